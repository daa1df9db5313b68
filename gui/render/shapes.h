// Draws triangles, of which all shapes of ImGui consist, and upright rectangles.
#pragma once

#include <imgui.h>

#include <cstdint>

#include "gui/render/fixed_point.h"
#include "gui/render/texture.h"

namespace lockstep::gui {

inline bool same(ImVec2 a, ImVec2 b) { return a.x == b.x && a.y == b.y; }

/// The rows of an image.
struct Rows {
  uint32_t* pixels;
  int64_t width;
  uint32_t* at(int x, int y) const { return pixels + y * width + x; }
};

/// The target, and the texture.
class Canvas {
 public:
  /// `clip` must lie inside the rows; `texture` must have texels.
  Canvas(Rows rows, Box clip, const Texture& texture)
      : rows_(rows), clip_(clip), texture_(texture) {}

  const Box& clip() const { return clip_; }
  const Texture& texture() const { return texture_; }
  Rows rows() const { return rows_; }

  /// Returns `texel(texture(), uv)`, cached: nearly all shapes use the white texel.
  uint32_t only_texel(ImVec2 uv) const {
    if (!same(uv, last_uv_)) {
      last_uv_ = uv;
      last_texel_ = texel(texture_, uv);
    }
    return last_texel_;
  }

 private:
  Rows rows_;
  Box clip_;
  const Texture& texture_;
  mutable ImVec2 last_uv_{-1, -1};
  mutable uint32_t last_texel_ = texel(texture_, last_uv_);
};

struct Corner {
  Point at;
  ImVec2 uv;
  uint32_t color = 0;
};

/// Covers the pixels whose centres lie inside. A centre on an edge counts if it is a
/// left or top edge: of two triangles that share it, exactly one covers the pixel.
void draw_triangle(const Canvas& canvas, const Corner& a, const Corner& b,
                   const Corner& c);

/// Upright rectangles are most of what a frame consists of: bars, panels, letters.
///
/// Draws the rectangle with corners in ImGui's order (left top, right top, right
/// bottom, left bottom) if it is an upright one of one colour and either of one texel
/// (then it equals its two triangles) or with whole numbers of texels per pixel, as
/// letters are (then each pixel takes the texel at its centre, unmixed: crisp).
/// False, and nothing drawn, for all others.
bool draw_upright(const Canvas& canvas, const Corner (&corners)[4]);

}  // namespace lockstep::gui
