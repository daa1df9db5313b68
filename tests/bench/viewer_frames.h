// How long the viewer takes to say what is to be drawn.
#pragma once

#include "gui/model/model.h"

namespace lockstep::bench {

/// Prints the CPU time of whole frames' draw lists (all panels, no pixels), the
/// timeline's primitives, and what the first frame costs.
void measure_frames(gui::Model model);

}  // namespace lockstep::bench
