// Computes new times for the moments of a timing graph.
#pragma once

#include <functional>
#include <vector>

#include "tracer/emulate/timing_graph.h"

namespace lockstep::tracer {

struct Schedule {
  std::vector<int64_t> times;  ///< time of each moment, ns
  std::vector<uint32_t>
      decisive;  ///< the moment that each moment waited for last, or itself
};

/// Durations and delays, in ns.
struct Weights {
  /// From the start of a task to its end.
  std::function<int64_t(const Event& task)> duration;
  /// From the last event that a task waited for to its start, given the recorded value.
  std::function<int64_t(const Event& task, int64_t recorded)> gap;
  /// From the last event that a sync waited for to its end, given the recorded value.
  std::function<int64_t(const Event& sync, int64_t recorded)> lag;
};

/// List scheduling: every moment happens as early as its edges allow. With the
/// recorded durations, gaps and lags, every moment gets exactly its recorded time.
Schedule retime(const TimingGraph& graph, const Weights& weights);

}  // namespace lockstep::tracer
