// Positions as whole numbers: 1/256 of a pixel. Whether a pixel is covered is decided
// with these alone, so that every machine and every compiler decides the same.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace lockstep::gui {

constexpr int kFractionBits = 8;
constexpr int32_t kPixel = 1 << kFractionBits;
constexpr double kFar = 1 << 20;  ///< pixels; what lies farther out is drawn at it

/// A position in 1/256 pixel.
struct Point {
  int32_t x = 0;
  int32_t y = 0;
};

/// Pixels from (x0, y0) up to, not including, (x1, y1). Empty when an end is not
/// after its begin.
struct Box {
  int x0 = 0;
  int y0 = 0;
  int x1 = 0;
  int y1 = 0;
  bool empty() const { return x0 >= x1 || y0 >= y1; }
};

constexpr int32_t kNowhere = std::numeric_limits<int32_t>::min();  ///< from a NaN

/// Rounds to 1/256. `near` times 256 is exact in double, so that fused or not, the sum
/// is rounded once and the same. (Of a NaN, these min and max make -kFar.)
inline int32_t to_fixed(float value) {
  const double near = std::max(-kFar, std::min(static_cast<double>(value), kFar));
  const auto rounded = static_cast<int32_t>(std::floor(near * kPixel + 0.5));
  return std::isnan(value) ? kNowhere : rounded;
}

/// The first pixel whose centre lies at or after a position: the begin of what a shape
/// covers from there on, and the end of what one covers up to there.
inline int first_centre(int32_t position) {
  return (position + kPixel / 2 - 1) >> kFractionBits;
}

inline Box intersection(const Box& a, const Box& b) {
  return {std::max(a.x0, b.x0), std::max(a.y0, b.y0), std::min(a.x1, b.x1),
          std::min(a.y1, b.y1)};
}

}  // namespace lockstep::gui
