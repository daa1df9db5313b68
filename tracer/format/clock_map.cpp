#include <algorithm>
#include <cmath>

#include "tracer/format/clocks.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

int64_t ClockMap::offset_at(int64_t time) const {
  if (points_.empty()) return 0;
  const auto after = std::upper_bound(
      points_.begin(), points_.end(), time,
      [](int64_t wanted, const Point& point) { return wanted < point.at; });
  if (after == points_.begin()) return points_.front().offset;
  const Point& a = *(after - 1);
  if (after == points_.end()) return a.offset;
  const Point& b = *after;
  const double share =
      static_cast<double>(time - a.at) / static_cast<double>(b.at - a.at);
  return a.offset + std::llround(static_cast<double>(b.offset - a.offset) * share);
}

int64_t ClockMap::operator()(int64_t time) const {
  return add_within_range(time, offset_at(time));
}

bool ClockMap::is_monotonic() const {
  for (size_t i = 1; i < points_.size(); ++i) {
    const int64_t passed = points_[i].at - points_[i - 1].at;
    if (passed <= 0 || points_[i].offset - points_[i - 1].offset <= -passed)
      return false;
  }
  return true;
}

}  // namespace lockstep::tracer
