// Measures the CPU time of the viewer's draw lists.
#pragma once

#include "gui/model/model.h"

namespace lockstep::bench {

/// Prints the CPU time of the draw lists of whole frames (all panels, no pixels), the
/// number of timeline primitives, and the cost of the first frame.
void measure_frames(gui::Model model);

}  // namespace lockstep::bench
