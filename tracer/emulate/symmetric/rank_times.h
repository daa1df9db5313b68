// When everything happens on one of many ranks that run the same program, as a function
// of the few moments at which ranks meet.
#pragma once

#include <span>
#include <vector>

#include "tracer/emulate/retime.h"

namespace lockstep::tracer {

/// Every moment of a rank happens at the latest of what it waits for, plus a constant.
/// So its time is max(c, v1 + w1, v2 + w2, …), where the v are the times of the
/// *inputs*: moments that other ranks have a part in. One walk over the rank's graph
/// finds all c and w; after that, the times of any rank cost one maximum per input.
class RankTimes {
 public:
  /// Less than every time, also after delays were added.
  static constexpr int64_t kNever = INT64_MIN / 4;

  /// `inputs`: moments whose times are given later, whatever they wait for.
  RankTimes(const TimingGraph& graph, const Weights& weights,
            std::span<const uint32_t> inputs);

  size_t inputs() const { return width_ - 1; }
  /// Returns when a moment happens if input i happens at `values[i]`, ns. kNever: the
  /// input is left out.
  int64_t at(size_t moment, std::span<const int64_t> values) const {
    return latest(&times_[moment * width_], values);
  }
  /// Returns when the last event ends.
  int64_t last(std::span<const int64_t> values) const {
    return latest(last_.data(), values);
  }
  /// Returns whether a moment waits for an input.
  bool waits(size_t moment, size_t input) const {
    return times_[moment * width_ + 1 + input] > kNever / 2;
  }

 private:
  int64_t latest(const int64_t* terms, std::span<const int64_t> values) const {
    int64_t time = terms[0];
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] > kNever / 2) time = std::max(time, values[i] + terms[1 + i]);
    }
    return time;
  }
  void place(const TimingGraph& graph, const Weights& weights, size_t moment);

  const size_t width_;          ///< 1 + number of inputs
  std::vector<int64_t> times_;  ///< by moment: c, then the w
  std::vector<int64_t> last_;
};

}  // namespace lockstep::tracer
