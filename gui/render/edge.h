// Where a straight edge crosses the rows of pixels, exactly.
#pragma once

#include <cstdint>

#include "gui/render/fixed.h"

namespace lockstep::gui {

/// Walks down an edge row by row. In each row, `column` is the first pixel whose centre
/// lies on the edge or right of it. Two shapes that share the edge compute the same
/// column; one ends there and the other begins, so no pixel is drawn twice or left out.
///
/// The crossing is a fraction; the walk keeps its quotient and its remainder, so that
/// it never rounds (Bresenham's way, with a start anywhere).
class Edge {
 public:
  /// `top.y < bottom.y`; starts in `row`, which may lie outside of the two.
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
    const int64_t borrow = rest_ >> 63;  // -1 or 0: a branch would be a coin toss
    rest_ += divisor_ & borrow;
    column_ += column_step_ + borrow;
  }

 private:
  static int64_t floor_divide(int64_t a, int64_t b) {  // b > 0
    return a / b - (a % b < 0 ? 1 : 0);
  }

  int64_t divisor_, column_, rest_;  ///< 0 <= rest_ < divisor_
  int64_t column_step_, rest_step_;  ///< as if the remainder always overflowed
};

}  // namespace lockstep::gui
