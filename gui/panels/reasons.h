// The colour legend for the step's copies, by reason.
#pragma once

#include "gui/app/app.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

/// Draws one row of dots and names from x to `right`, largest first, as many as fit.
void draw_reasons(const Ui& ui, float x, float y, float right, const OpenTrace& trace);

}  // namespace lockstep::gui
