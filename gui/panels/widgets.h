// What several panels draw: tabs, icons, names of events and devices, reasons, delays.
#pragma once

#include <array>
#include <string>

#include "gui/app/app.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

/// Two tabs in a card's title bar; `second` selects the second.
struct Tab {
  const char* name;
  const char* tip;
};
void draw_tabs(const Ui& ui, const Rect& area, const std::array<Tab, 2>& tabs,
               bool& second);

/// Returns an event's name in the chosen naming scheme.
std::string display_name(const Model& model, const Event& event, bool cpp);
/// Returns "host" or "device 2".
std::string device_label(const Model& model, int device);

/// The signs of the transport, drawn rather than taken from a font.
enum class Icon { play, pause, first, back, forward, last, into, caller };

/// Centred in `box`, about 12 points high.
void draw_icon(const Ui& ui, const Rect& box, Icon icon, ImU32 colour);

/// Draws one row of dots and names from x to `right`, largest first, as many as fit.
void draw_reasons(const Ui& ui, float x, float y, float right, const OpenTrace& trace);

/// ns from the trace's current time to the event's start; 0 or less if it has begun.
int64_t time_until(const OpenTrace& trace, uint32_t event);

/// Draws the label at the right of the box if at least half of `room` stays free.
/// Returns its width.
float draw_delay(const Ui& ui, const Rect& box, int64_t delay, float room);

}  // namespace lockstep::gui
