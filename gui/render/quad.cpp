#include "gui/render/shapes.h"

#include <cstdlib>

namespace lockstep::gui {

namespace {

constexpr int64_t kMaxTexelsPerPixel = 4;

/// Returns the number of texels per pixel if it is an integer up to kMaxTexelsPerPixel,
/// with a total deviation of at most a quarter texel; otherwise returns 0.
int64_t texels_per_pixel(int64_t texels, int64_t pixels) {
  const int64_t count = (texels + pixels / 2) / pixels;
  const bool whole = std::abs(texels - count * pixels) <= kPixel / 4;
  return whole && count <= kMaxTexelsPerPixel ? count : 0;
}

void fill(const Canvas& canvas, const Box& box, uint32_t color) {
  for (int y = box.y0; y < box.y1; ++y) {
    blend_row(canvas.rows().at(box.x0, y), box.x1 - box.x0, color);
  }
}

/// The texel at the centre of pixel (0, 0), in 1/256 texel, and the texels per pixel.
struct GlyphMap {
  int64_t origin_u, origin_v;
  int64_t step_u, step_v;
  int64_t column(int x) const { return (origin_u >> kFractionBits) + x * step_u; }
  int64_t row(int y) const { return (origin_v >> kFractionBits) + y * step_v; }
};

bool lies_inside(const Texture& texture, const GlyphMap& map, const Box& box) {
  return map.column(box.x0) >= 0 && map.column(box.x1 - 1) < texture.width &&
         map.row(box.y0) >= 0 && map.row(box.y1 - 1) < texture.height;
}

void copy(const Canvas& canvas, const Box& box, const GlyphMap& map, uint32_t color) {
  const Texture& texture = canvas.texture();
  for (int y = box.y0; y < box.y1; ++y) {
    uint32_t* pixels = canvas.rows().at(0, y);
    const uint32_t* texels = texture.pixels + map.row(y) * texture.width;
    for (int x = box.x0; x < box.x1; ++x) {
      const uint32_t seen = texels[map.column(x)];
      if (seen >> 24) pixels[x] = blend(pixels[x], modulate(color, seen));
    }
  }
}

}  // namespace

bool draw_upright(const Canvas& canvas, const Corner (&corners)[4]) {
  const auto& [a, b, c, d] = corners;
  const bool upright = a.at.y == b.at.y && b.at.x == c.at.x && c.at.y == d.at.y &&
                       d.at.x == a.at.x && a.at.x < c.at.x && a.at.y < c.at.y;
  const bool one_color = a.color == b.color && a.color == c.color && a.color == d.color;
  if (!upright || !one_color || a.at.x == kNowhere || a.at.y == kNowhere) return false;

  const Box box = intersection({first_centre(a.at.x), first_centre(a.at.y),
                                first_centre(c.at.x), first_centre(c.at.y)},
                               canvas.clip());
  if (same(a.uv, b.uv) && same(a.uv, c.uv) && same(a.uv, d.uv)) {
    if (!box.empty()) fill(canvas, box, modulate(a.color, canvas.only_texel(a.uv)));
    return true;
  }
  const Point from = texel_position(canvas.texture(), a.uv);
  const Point to = texel_position(canvas.texture(), c.uv);
  const bool parallel = a.uv.y == b.uv.y && b.uv.x == c.uv.x && c.uv.y == d.uv.y &&
                        d.uv.x == a.uv.x && from.x < to.x && from.y < to.y;
  if (!parallel) return false;
  const int64_t step_u = texels_per_pixel(to.x - from.x, c.at.x - a.at.x);
  const int64_t step_v = texels_per_pixel(to.y - from.y, c.at.y - a.at.y);
  if (step_u == 0 || step_v == 0) return false;
  const GlyphMap map{from.x + (kPixel / 2 - a.at.x) * step_u,
                     from.y + (kPixel / 2 - a.at.y) * step_v, step_u, step_v};
  if (box.empty()) return true;
  if (!lies_inside(canvas.texture(), map, box)) return false;
  copy(canvas, box, map, a.color);
  return true;
}

}  // namespace lockstep::gui
