// A texture used by the draw data, and sampling from it, clamped to the edges.
#pragma once

#include <imgui.h>

#include <algorithm>
#include <cstdint>

#include "gui/render/fixed_point.h"
#include "gui/render/pixel.h"

namespace lockstep::gui {

/// Non-owned 0xAABBGGRR pixels, row by row. An `ImTextureID` is a Texture's address
/// (see `texture_id` in imgui_compat.h); a null id or an empty texture means white.
struct Texture {
  int width = 0;
  int height = 0;
  const uint32_t* pixels = nullptr;
};

inline bool has_texels(const Texture* texture) {
  return texture && texture->pixels && texture->width > 0 && texture->height > 0;
}

/// Converts an ImGui texture coordinate (0 to 1) to units of 1/256 texel.
inline Point texel_position(const Texture& texture, ImVec2 uv) {
  const int32_t u = to_fixed(uv.x * static_cast<float>(texture.width));
  const int32_t v = to_fixed(uv.y * static_cast<float>(texture.height));
  return {u == kNowhere ? 0 : u, v == kNowhere ? 0 : v};
}

/// Returns the texel at a column and row, or the nearest one if they are out of range.
inline uint32_t texel(const Texture& texture, int64_t column, int64_t row) {
  const int64_t x = std::clamp<int64_t>(column, 0, texture.width - 1);
  const int64_t y = std::clamp<int64_t>(row, 0, texture.height - 1);
  return texture.pixels[y * texture.width + x];
}

/// Returns the texel at an ImGui texture coordinate.
inline uint32_t texel(const Texture& texture, ImVec2 uv) {
  const Point at = texel_position(texture, uv);
  return texel(texture, at.x >> kFractionBits, at.y >> kFractionBits);
}

/// Returns the mean of the four texels around a position in 1/256 texel, weighted by
/// distance.
inline uint32_t smooth_texel(const Texture& texture, int64_t u, int64_t v) {
  u -= kPixel / 2;
  v -= kPixel / 2;
  const int64_t column = u >> kFractionBits, row = v >> kFractionBits;
  const auto right = static_cast<uint32_t>(u & (kPixel - 1));
  const auto down = static_cast<uint32_t>(v & (kPixel - 1));
  const uint32_t upper =
      mix(texel(texture, column, row), texel(texture, column + 1, row), right);
  const uint32_t lower =
      mix(texel(texture, column, row + 1), texel(texture, column + 1, row + 1), right);
  return mix(upper, lower, down);
}

}  // namespace lockstep::gui
