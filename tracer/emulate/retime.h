// Computes new times for the moments of a timing graph.
#pragma once

#include <functional>
#include <optional>
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
  /// The host is this many times as fast as recorded.
  double host_scale = 1;
  /// Kernels take this many times as long while a collective of their device is in
  /// flight (interference.h). `retime` leaves it out, and `contention`, too.
  double interference = 1;
  /// How many times as long a kernel takes while another device computes; empty: 1.
  std::function<double(const Event& kernel)> contention = {};
};

/// Returns the time between the two ends of an edge: where the host works, its recorded
/// time divided by `host_scale`.
int64_t delay_of(const TimingGraph& graph, const TimingEdge& edge, size_t to,
                 const Weights& weights);

/// Every moment happens as early as its edges permit. With the recorded durations, gaps
/// and lags, every moment gets exactly its recorded time.
Schedule retime(const TimingGraph& graph, const Weights& weights);

/// The devices between which a copy moves; kHost is main memory.
struct Route {
  int64_t src = kHost, dst = kHost;
};

/// Returns the route of a task that uses a link, and std::nullopt for every other task.
using RouteOf = std::function<std::optional<Route>(const Event& task)>;

/// A schedule in which copies also wait for ports.
struct PortSchedule : Schedule {
  /// By event: the copy that held the port which this one waited for last, or kNoCopy.
  std::vector<uint32_t> port_held_by;
  static constexpr uint32_t kNoCopy = UINT32_MAX;
};

/// Like `retime`, but every device has two ports: it sends one copy at a time and
/// receives one copy at a time, in the order in which the copies became ready. Main
/// memory has a link to each device and no port of its own.
PortSchedule retime_with_ports(const TimingGraph& graph, const Weights& weights,
                               const RouteOf& route);

}  // namespace lockstep::tracer
