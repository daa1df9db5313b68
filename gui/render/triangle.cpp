#include "gui/render/shapes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "gui/render/fixed_point.h"
#include "gui/render/gradient.h"
#include "gui/render/pixel.h"

namespace lockstep::gui {

namespace {

struct Triangle {
  Point at[3];
  uint32_t color[3];
  double inverse_area;

  Gradient gradient(int32_t v0, int32_t v1, int32_t v2) const {
    return {at, v0, v1, v2, inverse_area};
  }
  Gradient channel(int index) const {
    const auto value = [&](int corner) {
      return static_cast<int32_t>(color[corner] >> (8 * index) & 255);
    };
    return gradient(value(0), value(1), value(2));
  }
};

/// Calls `paint(begin, row, count)` for the rows from `row` up to `end`; `count` is at
/// most 0 if no pixel centre lies between the edges. (Arguments are passed by value:
/// the compiler would have to assume that writing a pixel may change references.)
template <typename Paint>
void walk(Box clip, Edge left, Edge right, int row, int end, Paint paint) {
  for (; row < end; ++row, left.next_row(), right.next_row()) {
    const int64_t begin = std::max<int64_t>(left.column(), clip.x0);
    const int64_t count = std::min<int64_t>(right.column(), clip.x1) - begin;
    paint(static_cast<int>(begin), row, static_cast<int>(count));
  }
}

/// Visits the rows from top to bottom: one side is one edge, the other has a bend.
template <typename Paint>
void for_each_span(const Box& clip, const Triangle& triangle, Paint paint) {
  Point a = triangle.at[0], b = triangle.at[1], c = triangle.at[2];
  if (b.y < a.y) std::swap(a, b);
  if (c.y < b.y) std::swap(b, c);
  if (b.y < a.y) std::swap(a, b);
  const int begin = std::max(clip.y0, first_centre(a.y));
  const int end = std::min(clip.y1, first_centre(c.y));
  if (begin >= end) return;
  const int bend = std::clamp(first_centre(b.y), begin, end);
  const bool bends_right = twice_area(a, b, c) > 0;
  const auto walk_beside = [&](const Edge& bent, int from, int to) {
    const Edge straight(a, c, from);
    if (bends_right) {
      walk(clip, straight, bent, from, to, paint);
    } else {
      walk(clip, bent, straight, from, to, paint);
    }
  };
  if (begin < bend) walk_beside({a, b, begin}, begin, bend);
  if (bend < end) walk_beside({b, c, bend}, bend, end);
}

void draw_flat(const Canvas& canvas, const Triangle& triangle) {
  const auto paint = [rows = canvas.rows(), color = triangle.color[0]](int x, int y,
                                                                       int count) {
    blend_row(rows.at(x, y), count, color);
  };
  for_each_span(canvas.clip(), triangle, paint);
}

/// Draws one colour with varying alpha, as in the anti-aliased fringe of every line and
/// round corner.
void draw_fading(const Canvas& canvas, const Triangle& triangle) {
  const auto paint = [rows = canvas.rows(), color = triangle.color[0],
                      gradient = triangle.channel(3)](int x, int y, int count) {
    uint32_t* pixels = rows.at(x, y);
    const Channel alpha(gradient, x, y);
    for (int i = 0; i < count; ++i) {
      pixels[i] = blend(pixels[i], with_alpha(color, alpha.at(i)));
    }
  };
  for_each_span(canvas.clip(), triangle, paint);
}

/// The interpolated colour along a row of pixels.
class Shade {
 public:
  explicit Shade(const Triangle& triangle)
      : planes_{triangle.channel(0), triangle.channel(1), triangle.channel(2),
                triangle.channel(3)} {}

  auto along_row(int x, int y) const {
    const auto channel = [&](int i) { return Channel(planes_[i], x, y); };
    return [red = channel(0), green = channel(1), blue = channel(2),
            alpha = channel(3)](int i) {
      return red.at(i) | green.at(i) << 8 | blue.at(i) << 16 | alpha.at(i) << 24;
    };
  }
  bool is_even_along_rows() const {
    return std::all_of(std::begin(planes_), std::end(planes_),
                       [](const Gradient& plane) { return plane.step_x() == 0; });
  }

 private:
  Gradient planes_[4];
};

void draw_shaded(const Canvas& canvas, const Triangle& triangle) {
  const Shade shade(triangle);
  const bool even = shade.is_even_along_rows();
  for_each_span(canvas.clip(), triangle,
                [=, rows = canvas.rows()](int x, int y, int count) {
                  uint32_t* pixels = rows.at(x, y);
                  const auto color = shade.along_row(x, y);
                  if (even) return blend_row(pixels, count, color(0));
                  for (int i = 0; i < count; ++i)
                    pixels[i] = blend(pixels[i], color(i));
                });
}

void draw_textured(const Canvas& canvas, const Triangle& triangle,
                   const ImVec2 (&uv)[3]) {
  const Texture& texture = canvas.texture();
  const Point texels[3] = {texel_position(texture, uv[0]),
                           texel_position(texture, uv[1]),
                           texel_position(texture, uv[2])};
  const Gradient u = triangle.gradient(texels[0].x, texels[1].x, texels[2].x);
  const Gradient v = triangle.gradient(texels[0].y, texels[1].y, texels[2].y);
  const Shade shade(triangle);
  for_each_span(
      canvas.clip(), triangle, [=, rows = canvas.rows()](int x, int y, int count) {
        uint32_t* pixels = rows.at(x, y);
        const auto color = shade.along_row(x, y);
        for (int i = 0; i < count; ++i) {
          const uint32_t seen = smooth_texel(texture, u.at(x + i, y) >> Gradient::kBits,
                                             v.at(x + i, y) >> Gradient::kBits);
          pixels[i] = blend(pixels[i], modulate(color(i), seen));
        }
      });
}

}  // namespace

void draw_triangle(const Canvas& canvas, const Corner& a, const Corner& b,
                   const Corner& c) {
  const auto [left, right] = std::minmax({a.at.x, b.at.x, c.at.x});
  const auto [top, bottom] = std::minmax({a.at.y, b.at.y, c.at.y});
  const Box reach{first_centre(left), first_centre(top), first_centre(right),
                  first_centre(bottom)};
  if (left == kNowhere || top == kNowhere) return;
  if (intersection(reach, canvas.clip()).empty()) return;
  const int64_t area = twice_area(a.at, b.at, c.at);
  if (area == 0) return;

  Triangle triangle{
      {a.at, b.at, c.at}, {a.color, b.color, c.color}, 1.0 / static_cast<double>(area)};
  auto& color = triangle.color;
  if (!same(a.uv, b.uv) || !same(a.uv, c.uv)) {
    return draw_textured(canvas, triangle, {a.uv, b.uv, c.uv});
  }
  const uint32_t seen = canvas.only_texel(a.uv);
  for (uint32_t& corner : color) corner = modulate(corner, seen);
  const uint32_t changes = (color[0] ^ color[1]) | (color[0] ^ color[2]);
  if (changes == 0) {
    draw_flat(canvas, triangle);
  } else if ((changes & ~kOpaque) == 0) {
    draw_fading(canvas, triangle);
  } else {
    draw_shaded(canvas, triangle);
  }
}

}  // namespace lockstep::gui
