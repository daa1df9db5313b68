// Time covered jointly by several events.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace lockstep::tracer {

class Spans {
 public:
  void add(int64_t from, int64_t to) {
    if (from < to) spans_.emplace_back(from, to);
  }

  /// Returns the time covered; overlaps count once.
  int64_t covered() const {
    std::vector<std::pair<int64_t, int64_t>> spans = spans_;
    std::sort(spans.begin(), spans.end());
    int64_t total = 0, until = INT64_MIN;
    for (const auto& [from, to] : spans) {
      if (to <= until) continue;
      total += to - std::max(from, until);
      until = to;
    }
    return total;
  }

  /// Returns the time from the first start to the last end.
  int64_t extent() const {
    if (spans_.empty()) return 0;
    int64_t first = spans_[0].first, last = spans_[0].second;
    for (const auto& [from, to] : spans_) {
      first = std::min(first, from), last = std::max(last, to);
    }
    return last - first;
  }

 private:
  std::vector<std::pair<int64_t, int64_t>> spans_;
};

}  // namespace lockstep::tracer
