// What several panels draw: tabs, icons, names of events and devices, reasons, delays.
#pragma once

#include <array>
#include <string>

#include "gui/app/app.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

/// Two words in a card's title bar, of which one is chosen: the second if `second`.
struct Tab {
  const char* name;
  const char* tip;
};
void draw_tabs(const Ui& ui, const Rect& area, const std::array<Tab, 2>& tabs,
               bool& second);

/// How an event is called in the chosen language of names.
std::string display_name(const Model& model, const Event& event, bool cpp);
/// "host", "device 2"
std::string device_label(const Model& model, int device);

/// The signs of the transport, drawn rather than taken from a font.
enum class Icon { play, pause, first, back, forward, last, into, caller };

/// Centred in `box`, about 12 points high.
void draw_icon(const Ui& ui, const Rect& box, Icon icon, ImU32 colour);

/// One row of dots and names from x to `right`, the largest first, as many as there is
/// room for.
void draw_reasons(const Ui& ui, float x, float y, float right, const OpenTrace& trace);

/// ns from the trace's moment to the event's begin; 0 or less: it has begun.
int64_t time_until(const OpenTrace& trace, uint32_t event);

/// Written at the right of the box, where at least half of `room` is left for what it
/// tells about. Returns the width that it takes.
float draw_delay(const Ui& ui, const Rect& box, int64_t delay, float room);

}  // namespace lockstep::gui
