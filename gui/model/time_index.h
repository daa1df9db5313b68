// Finds places in sorted times with few reads of memory, and many of them at once
// without waiting for each read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::gui {

/// Asks for the cache line at `address`, and the one 64 bytes further.
inline void prefetch_lines(const void* address) {
  __builtin_prefetch(address);
  __builtin_prefetch(static_cast<const char*>(address) + 64);
}

/// An index of points sorted by time. `time_of(point)` returns the time of one; all
/// calls must be given the points that it was built from.
class TimeIndex {
 public:
  template <typename Point, typename TimeOf>
  void build(std::span<const Point> points, const TimeOf& time_of);
  /// Returns the number of points whose times are at most `ts`.
  template <typename Point, typename TimeOf>
  size_t until(int64_t ts, std::span<const Point> points, const TimeOf& time_of) const;
  /// Returns `until` of each of many times. Three passes: reads of different times
  /// overlap.
  template <typename Point, typename TimeOf>
  std::vector<size_t> until_each(std::span<const int64_t> times,
                                 std::span<const Point> points,
                                 const TimeOf& time_of) const;

 private:
  static constexpr size_t kPerPart = 16;  ///< times, on average
  bool is_inside(int64_t ts) const { return ts >= begin_ && ts < last_; }
  size_t part_of(int64_t ts) const {
    const double part = static_cast<double>(ts - begin_) * per_ns_;
    return std::min(static_cast<size_t>(part), first_.size() - 2);
  }
  int64_t begin_ = 0, last_ = -1;
  double per_ns_ = 0;
  size_t count_ = 0;
  std::vector<uint32_t> first_;  ///< of each part of equal length, then `count_`
};

template <typename Point, typename TimeOf>
void TimeIndex::build(std::span<const Point> points, const TimeOf& time_of) {
  count_ = points.size();
  if (points.empty()) return;
  begin_ = time_of(points.front()), last_ = time_of(points.back());
  const size_t parts = count_ / kPerPart + 1;
  per_ns_ = static_cast<double>(parts) / (static_cast<double>(last_ - begin_) + 1);
  first_.assign(parts + 2, static_cast<uint32_t>(count_));
  for (size_t i = count_; i-- > 0;) {
    first_[part_of(time_of(points[i]))] = static_cast<uint32_t>(i);
  }
  for (size_t part = parts + 1; part-- > 0;) {
    first_[part] = std::min(first_[part], first_[part + 1]);
  }
}

template <typename Point, typename TimeOf>
size_t TimeIndex::until(int64_t ts, std::span<const Point> points,
                        const TimeOf& time_of) const {
  if (count_ == 0 || ts < begin_) return 0;
  if (ts >= last_) return count_;
  const size_t part = part_of(ts);
  size_t from = first_[part], to = first_[part + 1];
  while (from < to) {
    const size_t middle = (from + to) / 2;
    if (time_of(points[middle]) <= ts)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

template <typename Point, typename TimeOf>
std::vector<size_t> TimeIndex::until_each(std::span<const int64_t> times,
                                          std::span<const Point> points,
                                          const TimeOf& time_of) const {
  std::vector<size_t> places(times.size());
  for (const int64_t ts : times) {
    if (is_inside(ts)) __builtin_prefetch(&first_[part_of(ts)]);
  }
  for (const int64_t ts : times) {
    if (is_inside(ts)) prefetch_lines(points.data() + first_[part_of(ts)]);
  }
  for (size_t i = 0; i < times.size(); ++i) {
    places[i] = until(times[i], points, time_of);
  }
  return places;
}

}  // namespace lockstep::gui
