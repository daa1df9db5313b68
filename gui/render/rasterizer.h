// Renders ImGui's draw data to an image in memory: no window, no graphics driver, and
// identical pixels on every machine.
#pragma once

#include <imgui.h>

#include <cstdint>

#include "gui/render/image.h"
#include "gui/render/texture.h"

namespace lockstep::gui {

/// Fills `target` (its width and height are given; an empty one stays empty) with
/// `background`, taken as opaque, and draws over it. Positions are points; a pixel is
/// 1 / FramebufferScale of one. Colours blend by alpha, rounded to the nearest.
///
/// Textures are bilinear, letters are not (shapes.h). User callbacks are skipped. Any
/// draw data is safe, however wild its numbers, as long as each texture id is none or
/// points to a live `Texture`. Thread-safe for different targets.
void rasterize(const ImDrawData& data, Image& target, uint32_t background);

}  // namespace lockstep::gui
