// Elements shared by several panels: tabs, icons, event and device names, and delays.
#pragma once

#include <array>
#include <string>

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

/// Returns the ns from the current time to the event's start; at most 0 once it began.
int64_t time_until(const OpenTrace& trace, uint32_t event);

/// Draws a delay at the right of `box` if that leaves at least half of `room` free.
/// Returns the width of the label.
float draw_delay(const Ui& ui, const Rect& box, int64_t delay, float room);

}  // namespace lockstep::gui
