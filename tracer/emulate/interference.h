// Kernels that slow down while a collective of their device is in flight.
#pragma once

#include <unordered_map>

#include "tracer/emulate/timing_graph.h"

namespace lockstep::tracer {

/// Follows a schedule in the order of time. A device's streams share a pid.
class Interference {
 public:
  /// `slowdown`: kernels take this many times as long while a collective is in flight.
  Interference(const TimingGraph& graph, double slowdown)
      : graph_(graph), lost_(1 - 1 / slowdown) {}

  /// Returns when the work of a kernel ends that started at `start` and takes
  /// `duration` without collectives: `now`, if that is over, else a time before which
  /// it cannot be over. Ask again then. For anything else returns `now`.
  int64_t end_of(size_t moment, int64_t start, int64_t duration, int64_t now) const;

  /// A moment happens now.
  void happens(size_t moment, int64_t now);

 private:
  struct Device {
    int in_flight = 0;  ///< collectives
    int64_t since = 0;  ///< the last change
    int64_t busy = 0;   ///< ns until then in which some collective was in flight
    int64_t busy_until(int64_t now) const {
      return busy + (in_flight > 0 ? now - since : 0);
    }
  };

  const TimingGraph& graph_;
  const double lost_;                            ///< the share of a device's speed
  std::unordered_map<int64_t, Device> devices_;  ///< by pid
  std::unordered_map<size_t, int64_t> busy_at_start_;  ///< of a kernel's device
};

}  // namespace lockstep::tracer
