// Axis-aligned rectangles, which make up most of a frame: bars, panels, glyphs.
#pragma once

#include "gui/render/triangle.h"

namespace lockstep::gui {

/// Draws the rectangle with corners in ImGui's order (left top, right top, right
/// bottom, left bottom) if it is axis-aligned, of one colour, and either of one texel
/// (the result equals its two triangles) or with an integral number of texels per
/// pixel, as glyphs are (each pixel takes the texel at its centre without filtering,
/// hence crisp). Otherwise returns false and draws nothing.
bool draw_upright(const Canvas& canvas, const Corner (&corners)[4]);

}  // namespace lockstep::gui
