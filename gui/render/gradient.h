// Linear interpolation of a value given at the corners of a triangle: a colour channel
// or a texture coordinate.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gui/render/fixed_point.h"

namespace lockstep::gui {

/// Returns twice the area of a triangle in units of 1/256 x 1/256 pixel; the sign gives
/// the orientation.
inline int64_t twice_area(Point a, Point b, Point c) {
  return (int64_t{b.x} - a.x) * (int64_t{c.y} - a.y) -
         (int64_t{b.y} - a.y) * (int64_t{c.x} - a.x);
}

/// A linear function of the pixel position. Values have `kBits` fractional bits.
///
/// Slopes are computed in floating point using only products and one quotient. There is
/// no sum that a compiler could fuse, so slopes are the same on every machine.
class Gradient {
 public:
  static constexpr int kBits = 20;

  Gradient() = default;  ///< 0 everywhere

  /// Interpolates `v0`, `v1` and `v2` (at most 2^28 in magnitude) between `corners`.
  /// `inverse_area` is 1.0 / twice_area(corners), which must not be 0.
  Gradient(const Point (&corners)[3], int32_t v0, int32_t v1, int32_t v2,
           double inverse_area) {
    const auto& [a, b, c] = corners;
    const int64_t v01 = int64_t{v1} - v0, v02 = int64_t{v2} - v0;
    step_x_ = slope(v01 * (c.y - a.y) - v02 * (b.y - a.y), inverse_area);
    step_y_ = slope(v02 * (b.x - a.x) - v01 * (c.x - a.x), inverse_area);
    column_ = a.x >> kFractionBits;
    row_ = a.y >> kFractionBits;
    const int64_t back_x = a.x - (int64_t{column_} * kPixel + kPixel / 2);
    const int64_t back_y = a.y - (int64_t{row_} * kPixel + kPixel / 2);
    value_ = (int64_t{v0} << kBits) - (step_x_ * back_x + step_y_ * back_y) / kPixel;
  }

  /// Returns the value at the centre of a pixel.
  int64_t at(int column, int row) const {
    return value_ + (column - column_) * step_x_ + (row - row_) * step_y_;
  }

  /// Returns the increment from a pixel to its right neighbour.
  int64_t step_x() const { return step_x_; }

 private:
  static int64_t slope(int64_t numerator, double inverse_area) {
    constexpr double kSteepest = static_cast<double>(int64_t{1} << 40);
    const double scale = static_cast<double>(int64_t{kPixel} << kBits);
    const double exact = static_cast<double>(numerator) * inverse_area * scale;
    return static_cast<int64_t>(std::clamp(exact, -kSteepest, kSteepest));
  }

  int column_ = 0, row_ = 0;  ///< the pixel that contains the first corner
  int64_t value_ = 0;         ///< at the centre of that pixel
  int64_t step_x_ = 0, step_y_ = 0;
};

/// A colour channel along a row of pixels. Sums wrap around at 32 bits, which affects
/// only slopes too steep to be visible.
class Channel {
 public:
  Channel(const Gradient& gradient, int column, int row)
      : value_(static_cast<uint32_t>(gradient.at(column, row)) + kHalf),
        step_(static_cast<uint32_t>(gradient.step_x())) {}

  /// Returns the value, 0 to 255, `i` pixels after the first.
  uint32_t at(int i) const {
    const uint32_t value = value_ + static_cast<uint32_t>(i) * step_;
    const int32_t level = static_cast<int32_t>(value) >> Gradient::kBits;
    return static_cast<uint32_t>(std::clamp(level, 0, 255));
  }

 private:
  static constexpr uint32_t kHalf = 1u << (Gradient::kBits - 1);
  uint32_t value_, step_;
};

}  // namespace lockstep::gui
