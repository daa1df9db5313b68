// Draws triangles, of which all ImGui shapes consist, and axis-aligned rectangles.
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

/// The target of drawing and the current texture.
class Canvas {
 public:
  /// `clip` must lie within the rows; `texture` must not be empty.
  Canvas(Rows rows, Box clip, const Texture& texture)
      : rows_(rows), clip_(clip), texture_(texture) {}

  const Box& clip() const { return clip_; }
  const Texture& texture() const { return texture_; }
  Rows rows() const { return rows_; }

  /// Returns `texel(texture(), uv)`. Cached, because nearly all shapes use one texel.
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

/// Covers the pixels whose centres lie inside the triangle or on a left or top edge, so
/// that of two triangles that share an edge, exactly one covers a pixel on it.
void draw_triangle(const Canvas& canvas, const Corner& a, const Corner& b,
                   const Corner& c);

/// Axis-aligned rectangles make up most of a frame: bars, panels and letters.
///
/// Draws a rectangle, given its corners in ImGui's order (left top, right top, right
/// bottom, left bottom), if it is axis-aligned, has one colour, and has either a single
/// texel (the result equals its two triangles) or a whole number of texels per pixel,
/// like letters (each pixel takes the texel at its centre without interpolation).
/// Otherwise, draws nothing and returns false.
bool draw_upright(const Canvas& canvas, const Corner (&corners)[4]);

}  // namespace lockstep::gui
