// Fixed-point positions in units of 1/256 pixel. Pixel coverage is computed from these
// alone, so that the result is the same on every machine and with every compiler.
// `Edge` computes exactly where a straight edge crosses each row of pixels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace lockstep::gui {

constexpr int kFractionBits = 8;
constexpr int32_t kPixel = 1 << kFractionBits;
constexpr double kFar = 1 << 20;  ///< in pixels; positions beyond it are clamped

/// A position in 1/256 pixel.
struct Point {
  int32_t x = 0;
  int32_t y = 0;
};

/// The pixels from (x0, y0) up to but excluding (x1, y1). Empty if x1 <= x0 or
/// y1 <= y0.
struct Box {
  int x0 = 0;
  int y0 = 0;
  int x1 = 0;
  int y1 = 0;
  bool empty() const { return x0 >= x1 || y0 >= y1; }
};

constexpr int32_t kNowhere =
    std::numeric_limits<int32_t>::min();  ///< the result for NaN

/// Rounds to 1/256. `near` times 256 is exact in double, so the result is rounded only
/// once, whether or not the operations are fused. (NaN is clamped to -kFar here.)
inline int32_t to_fixed(float value) {
  const double near = std::max(-kFar, std::min(static_cast<double>(value), kFar));
  const auto rounded = static_cast<int32_t>(std::floor(near * kPixel + 0.5));
  return std::isnan(value) ? kNowhere : rounded;
}

/// Returns the first pixel whose centre lies at or after a position: the first pixel of
/// a shape that begins there, and one past the last pixel of a shape that ends there.
inline int first_centre(int32_t position) {
  return (position + kPixel / 2 - 1) >> kFractionBits;
}

inline Box intersection(const Box& a, const Box& b) {
  return {std::max(a.x0, b.x0), std::max(a.y0, b.y0), std::min(a.x1, b.x1),
          std::min(a.y1, b.y1)};
}

/// Walks down an edge row by row. In each row, `column` is the first pixel whose centre
/// lies on the edge or to its right. Two shapes that share an edge compute the same
/// column, at which one ends and the other begins: no pixel is drawn twice or skipped.
///
/// The intersection is a fraction; the walk keeps its quotient and remainder and never
/// rounds (as in Bresenham's algorithm, but from an arbitrary starting point).
class Edge {
 public:
  /// Starts at `row`, which may lie outside the edge. Requires `top.y < bottom.y`.
  Edge(Point top, Point bottom, int row) {
    const int64_t dx = int64_t{bottom.x} - top.x;
    const int64_t dy = int64_t{bottom.y} - top.y;
    const int64_t below = int64_t{row} * kPixel + kPixel / 2 - top.y;
    // column = ceil((x - half) / kPixel), where x = top.x + below * dx / dy
    divisor_ = kPixel * dy;
    const int64_t crossing = (top.x - kPixel / 2) * dy + below * dx + divisor_ - 1;
    column_ = floor_divide(crossing, divisor_);
    rest_ = crossing - column_ * divisor_;
    const int64_t whole_step = floor_divide(dx, dy);
    column_step_ = whole_step + 1;
    rest_step_ = kPixel * (dx - whole_step * dy) - divisor_;
  }

  int64_t column() const { return column_; }

  void next_row() {
    rest_ += rest_step_;
    const int64_t borrow = rest_ >> 63;  // -1 or 0; avoids an unpredictable branch
    rest_ += divisor_ & borrow;
    column_ += column_step_ + borrow;
  }

 private:
  static int64_t floor_divide(int64_t a, int64_t b) {  // b > 0
    return a / b - (a % b < 0 ? 1 : 0);
  }

  int64_t divisor_, column_, rest_;  ///< 0 <= rest_ < divisor_
  int64_t column_step_, rest_step_;  ///< assume that the remainder always overflows
};

}  // namespace lockstep::gui
