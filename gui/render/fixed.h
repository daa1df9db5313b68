// Positions as integers in 1/256 pixel. Coverage is decided with these alone, so every
// machine and compiler gives the same result.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace lockstep::gui {

constexpr int kFractionBits = 8;
constexpr int32_t kPixel = 1 << kFractionBits;
constexpr double kFar = 1 << 20;  ///< pixels; positions farther out are clamped

/// A position in 1/256 pixel.
struct Point {
  int32_t x = 0;
  int32_t y = 0;
};

/// Pixels from (x0, y0) up to but excluding (x1, y1). Empty if an end does not exceed
/// its begin.
struct Box {
  int x0 = 0;
  int y0 = 0;
  int x1 = 0;
  int y1 = 0;
  bool empty() const { return x0 >= x1 || y0 >= y1; }
};

constexpr int32_t kNowhere =
    std::numeric_limits<int32_t>::min();  ///< the result for NaN

/// Rounds to 1/256. `near` times 256 is exact in double, so the sum is rounded once,
/// fused or not. (For NaN, these min and max give -kFar.)
inline int32_t to_fixed(float value) {
  const double near = std::max(-kFar, std::min(static_cast<double>(value), kFar));
  const auto rounded = static_cast<int32_t>(std::floor(near * kPixel + 0.5));
  return std::isnan(value) ? kNowhere : rounded;
}

/// Returns the first pixel whose centre lies at or after a position: where a shape that
/// begins there starts, and where one that ends there stops.
inline int first_centre(int32_t position) {
  return (position + kPixel / 2 - 1) >> kFractionBits;
}

inline Box intersection(const Box& a, const Box& b) {
  return {std::max(a.x0, b.x0), std::max(a.y0, b.y0), std::min(a.x1, b.x1),
          std::min(a.y1, b.y1)};
}

}  // namespace lockstep::gui
