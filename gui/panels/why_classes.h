// How "Why not 4x?" draws a class of time.
#pragma once

#include "gui/ui/ui.h"
#include "tracer/analysis/split.h"

namespace lockstep::gui {

/// Fills `r` with the look of a class: waiting is hatched, and work has the colour of
/// its phase.
void fill_class(const Ui& ui, const Rect& r, tracer::Spent spent);

}  // namespace lockstep::gui
