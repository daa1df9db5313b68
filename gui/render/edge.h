// Exact intersections of a straight edge with rows of pixels.
#pragma once

#include <cstdint>

#include "gui/render/fixed.h"

namespace lockstep::gui {

/// Walks down an edge row by row. In each row, `column` is the first pixel whose centre
/// lies on the edge or to its right. Two shapes that share the edge compute the same
/// column, where one ends and the other begins: no pixel is drawn twice or omitted.
///
/// The intersection is a fraction; the walk keeps quotient and remainder, so it never
/// rounds (as in Bresenham's algorithm, but from any starting point).
class Edge {
 public:
  /// `top.y < bottom.y`; starts in `row`, which may lie outside that range.
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
  int64_t column_step_, rest_step_;  ///< assuming that the remainder always overflows
};

}  // namespace lockstep::gui
