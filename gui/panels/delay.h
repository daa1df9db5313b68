// The label "in 450 ms": work that a host call causes runs when its stream reaches it.
#pragma once

#include "gui/app/app.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

/// Returns the ns until the event begins; 0 or less if it has begun.
int64_t time_until(const OpenTrace& trace, uint32_t event);

/// Draws the label at the right of the box if at least half of `room` stays free.
/// Returns its width.
float draw_delay(const Ui& ui, const Rect& box, int64_t delay, float room);

}  // namespace lockstep::gui
