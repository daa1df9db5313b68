// What all schedulers share: when a moment happens, and which moments wait for it.
#pragma once

#include <numeric>
#include <optional>
#include <vector>

#include "tracer/emulate/interference.h"
#include "tracer/emulate/retime.h"

namespace lockstep::tracer {

/// Computes when a moment happens, from the times of everything that it waits for.
void place(const TimingGraph& graph, const Weights& weights, Schedule& schedule,
           size_t moment);

/// A moment is about to happen now. If it is the end of a kernel that takes longer,
/// because of collectives, returns when to ask again; else `now` is its time.
std::optional<int64_t> put_off(Schedule& schedule, const Interference& interference,
                               size_t moment, int64_t now);

/// The moments that wait for each moment: the edges of the graph, reversed.
class Followers {
 public:
  explicit Followers(const TimingGraph& graph)
      : first_(graph.moments() + 1), missing_(graph.moments()) {
    each_edge(graph, [&](uint32_t from, size_t) { ++first_[from + 1]; });
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    followers_.resize(first_.back());
    std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
    each_edge(graph, [&](uint32_t from, size_t moment) {
      followers_[next[from]++] = static_cast<uint32_t>(moment);
      ++missing_[moment];
    });
  }

  bool waits(size_t moment) const { return missing_[moment] > 0; }

  /// Calls `visit` for each moment that was waiting only for this one.
  template <typename Visit>
  void release(size_t moment, Visit visit) {
    for (uint32_t i = first_[moment]; i < first_[moment + 1]; ++i) {
      if (--missing_[followers_[i]] == 0) visit(followers_[i]);
    }
  }

 private:
  template <typename Visit>
  static void each_edge(const TimingGraph& graph, Visit visit) {
    for (size_t moment = 0; moment < graph.moments(); ++moment) {
      for (const TimingEdge& edge : graph.edges(moment)) visit(edge.from, moment);
    }
  }

  std::vector<uint32_t> first_, followers_, missing_;
};

}  // namespace lockstep::tracer
