// Elements shared by several panels: tabs, icons, event and device names, and delays.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "gui/app/app.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

/// One of the two tabs in a card's title bar; `second` is true if the second is active.
struct Tab {
  const char* name;
  const char* tip;
};
void draw_tabs(const Ui& ui, const Rect& area, const std::array<Tab, 2>& tabs,
               bool& second);

/// What the user does in a text field: it has no focus, has it, ends by enter, or
/// leaves it.
enum class Typing : uint8_t { off, on, entered, left };
/// Draws a text field. `focused`: gives it keyboard focus. `found`, if not null: what
/// the tab key completes to.
Typing text_field(const Ui& ui, const char* id, const Rect& box, const char* hint,
                  std::string& text, bool focused,
                  const std::vector<std::string>* found = nullptr);

/// A window of ImGui's on top of the panels, so that it gets the mouse first. Draw with
/// `ui` while it exists.
class Overlay {
 public:
  Overlay(const Ui& base, const char* name, const Rect& area);
  ~Overlay();
  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;
  Ui ui;
};

/// Returns the name of an event: if `cpp` is true, its C++ name if that is known.
std::string display_name(const Model& model, const Event& event, bool cpp);
/// Returns "forward · resnet.py(284)" for "torchvision/models/resnet.py(284): forward",
/// so that a narrow panel cuts off the place and not the function. Returns any name
/// that is not a Python frame's unchanged.
std::string function_first(const std::string& name);
/// Returns "host" or "device 2".
std::string device_label(const Model& model, int device);

/// The icons of the playback controls, drawn rather than taken from a font.
enum class Icon { play, pause, first, back, forward, last, into, caller };

/// Draws an icon centred in `box`, about 12 points high.
void draw_icon(const Ui& ui, const Rect& box, Icon icon, ImU32 colour);

/// Draws the reasons for copies from x to `right`, largest first, as many as fit.
void draw_reasons(const Ui& ui, float x, float y, float right, const OpenTrace& trace);

/// Whose time a duration is: a call's, spent by a host thread, or a task's on a device.
struct Clock {
  const char* word;  ///< "host", "device", "" where neither is recorded
  bool always;       ///< the same name may also have a time on the other clock
};
Clock clock_of(const Event& event);
/// Returns how long an event took; "" for one without duration, or of a null device.
std::string time_of_event(const Model& model, const Event& event);
/// Draws "host 6.55 ms", ending at `right`. Omits the word if it does not fit into
/// `room`, unless it must be said. Returns the width.
float draw_clocked(const Ui& ui, float right, float y, const std::string& time,
                   Clock clock, ImU32 ink, float room);
/// Returns the width that `draw_clocked` needs at least.
float clocked_width(const Ui& ui, const std::string& time, Clock clock);

/// Returns the time until the event starts, in ns; at most 0 once it has started.
int64_t time_until(const OpenTrace& trace, uint32_t event);

/// Draws a delay at the right of `box` if that leaves at least half of `room` free.
/// Returns the width of the label.
float draw_delay(const Ui& ui, const Rect& box, int64_t delay, float room);

}  // namespace lockstep::gui
