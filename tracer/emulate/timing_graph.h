// Why each event of a trace happens when it happens.
//
// The graph's nodes are the starts and ends of events ("moments"); its edges say "not
// before". From other weights on the edges follow other times: that is all that the
// emulator and the longest path do.
//
//   host lane   between two moments of a lane, host time passes as it was recorded
//   parent      a thread begins at a moment of its parent's lane, plus host time; so
//               does a loader's worker when a batch was taken and it has room for
//               another. Was it at work until later, it still begins after that moment
//   sync        a wait ends when everything in `for` has ended
//   launch      a kernel, copy or collective starts after the start of its op
//   fifo        … after its predecessor on the same lane has ended
//   deps        … after everything in `deps` has ended
//   task        it ends when its work is done
//   message     a collective of several messages ends after the last of them; a message
//               starts after the collective around it, and after the sender's
//   carried     marks and counters move with the moment before them
#pragma once

#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

struct TimingEdge {
  enum class Kind { host, parent, sync, launch, fifo, deps, task, message, carried };
  Kind kind;
  size_t from;        ///< moment
  int64_t delay = 0;  ///< recorded time from `from` to here; 0 for what only waits
};

class TimingGraph {
 public:
  /// Throws std::runtime_error when events wait for each other in a circle. The trace
  /// must outlive the graph, unchanged.
  explicit TimingGraph(const Trace& trace);

  /// Event i starts at moment 2i and ends at moment 2i + 1.
  static size_t start_of(size_t event) { return 2 * event; }
  static size_t end_of(size_t event) { return 2 * event + 1; }
  static size_t event_of(size_t moment) { return moment / 2; }
  static bool is_end(size_t moment) { return moment % 2 == 1; }

  const Trace& trace() const { return trace_; }
  size_t moments() const { return edges_.size(); }
  int64_t recorded(size_t moment) const;

  /// What a moment waits for; empty for those that simply happen when they happen.
  const std::vector<TimingEdge>& edges(size_t moment) const { return edges_[moment]; }

  /// All moments, each after everything that it waits for.
  const std::vector<size_t>& order() const { return order_; }

 private:
  void add(size_t to, TimingEdge::Kind kind, size_t from, int64_t delay = 0);
  void add_host_lanes();
  void add_tasks();
  void add_messages();
  void add_carried();
  void sort_moments();

  const Trace& trace_;
  std::vector<std::vector<TimingEdge>> edges_;
  std::vector<size_t> order_;
};

}  // namespace lockstep::tracer
