// "in 450 ms": what a host call causes on a device runs when the stream comes to it.
#pragma once

#include "gui/app/app.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

/// ns from the trace's moment to the event's begin; 0 or less: it has begun.
int64_t time_until(const OpenTrace& trace, uint32_t event);

/// Written at the right of the box, where at least half of `room` is left for what it
/// tells about. Returns the width that it takes.
float draw_delay(const Ui& ui, const Rect& box, int64_t delay, float room);

}  // namespace lockstep::gui
