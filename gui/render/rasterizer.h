// Renders ImGui's draw data to an image in memory, without a window or a graphics
// driver. The same draw data gives identical pixels on every machine.
#pragma once

#include <imgui.h>

#include <cstdint>

#include "gui/render/image.h"
#include "gui/render/texture.h"

namespace lockstep::gui {

/// Fills `target`, whose width and height must be set (an empty image stays empty),
/// with `background`, treated as opaque, and draws on it. Positions are in points of
/// FramebufferScale pixels. Colours are blended by alpha and rounded to nearest.
///
/// Textures are sampled bilinearly, except for letters (see shapes.h). User callbacks
/// are skipped. Any vertex data is safe, but each texture id must be null or point to a
/// live `Texture`. Thread-safe for different targets.
void rasterize(const ImDrawData& data, Image& target, uint32_t background);

}  // namespace lockstep::gui
