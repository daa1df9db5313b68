// Which colour stands for which reason of moving bytes, of what moves in this step.
#pragma once

#include "gui/app/app.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

/// One row of dots and names from x to `right`, the largest first, as many as there is
/// room for.
void draw_reasons(const Ui& ui, float x, float y, float right, const OpenTrace& trace);

}  // namespace lockstep::gui
