// Upright rectangles, most of what a frame consists of: bars, panels, letters.
#pragma once

#include "gui/render/triangle.h"

namespace lockstep::gui {

/// Draws the rectangle with corners in ImGui's order (left top, right top, right
/// bottom, left bottom) if it is an upright one of one colour and either of one texel
/// (then it equals its two triangles) or with whole numbers of texels per pixel, as
/// letters are (then each pixel takes the texel at its centre, unmixed: crisp).
/// False, and nothing drawn, for all others.
bool draw_upright(const Canvas& canvas, const Corner (&corners)[4]);

}  // namespace lockstep::gui
