// Determines why each event of a trace happens at its time.
//
// The nodes of the graph are the starts and ends of events ("moments");
// its edges mean "not before". Different edge weights yield different
// times: both the emulator and the longest path are based on this.
//
//   host lane   between two moments of a lane, host time passes as recorded
//   parent      a thread begins at a moment of its parent's lane, plus host time; so
//               does a loader worker when a batch was taken and there is room for
//               another. If it was busy until later, it still begins after that moment
//   sync        a wait ends when everything in `for` has ended
//   launch      a kernel, copy or collective starts after the start of its op
//   fifo        … after its predecessor on the same lane has ended
//   deps        … after everything in `deps` has ended
//   port        … after the copy that held the port it needs (emulated traces only)
//   task        a task ends when its work is done
//   message     a collective with messages ends after the last of them; a message
//               starts after the enclosing collective and the sender's have started
//   carried     marks and counters move with the moment before them
#pragma once

#include <cstdint>
#include <vector>

#include "tracer/format/index.h"
#include "tracer/format/lanes.h"

namespace lockstep::tracer {

struct TimingEdge {
  enum class Kind : uint32_t {
    none,
    host,
    parent,
    sync,
    launch,
    fifo,
    deps,
    port,
    task,
    message,
    carried
  };
  uint32_t from : 27 = 0;    ///< moment: a trace has at most 20 million events
  uint32_t delayed : 1 = 0;  ///< the recorded time passes from `from` to here
  Kind kind : 4 = Kind::none;
  uint32_t next = 0;  ///< further edge of the same moment (see TimingGraph), or 0
};

class TimingGraph {
 public:
  /// Marks and counters wait for others, but nothing waits for them.
  enum class Covers : uint8_t { every_event, complete_events };

  /// Throws std::runtime_error if events wait for each other in a cycle. The
  /// trace and its lanes must outlive the graph and must not be modified.
  TimingGraph(const Trace& trace, const Lanes& lanes,
              Covers covers = Covers::every_event);

  /// Event i starts at moment 2i and ends at moment 2i + 1.
  static size_t start_of(size_t event) { return 2 * event; }
  static size_t end_of(size_t event) { return 2 * event + 1; }
  static size_t event_of(size_t moment) { return moment / 2; }
  static bool is_end(size_t moment) { return moment % 2 == 1; }

  const Trace& trace() const { return trace_; }
  size_t moments() const { return 2 * trace_.events.size(); }
  int64_t recorded(size_t moment) const {
    const Event& event = trace_.events[event_of(moment)];
    return is_end(moment) ? event.end() : event.ts;
  }

  /// The edges to what a moment waits for, in insertion
  /// order; empty for moments that do not wait for anything.
  class Edges {
   public:
    class Iterator {
     public:
      Iterator(const TimingGraph& graph, uint32_t at) : graph_(&graph), at_(at) {}
      const TimingEdge& operator*() const { return graph_->edges_[at_]; }
      Iterator& operator++() {
        at_ = graph_->after(at_);
        return *this;
      }
      bool operator!=(const Iterator& other) const { return at_ != other.at_; }

     private:
      const TimingGraph* graph_;
      uint32_t at_;
    };

    Edges(const TimingGraph& graph, uint32_t first) : graph_(graph), first_(first) {}
    Iterator begin() const { return {graph_, first_}; }
    Iterator end() const { return {graph_, kNoEdge}; }
    bool empty() const { return first_ == kNoEdge; }
    const TimingEdge& front() const { return graph_.edges_[first_]; }

   private:
    const TimingGraph& graph_;
    uint32_t first_;
  };
  Edges edges(size_t moment) const { return {*this, first(moment)}; }

  /// Returns the minimum time between the two ends of an edge, in ns.
  int64_t delay(const TimingEdge& edge, size_t to) const {
    return edge.delayed ? recorded(to) - recorded(edge.from) : 0;
  }

  /// Returns all moments, each after everything that it waits for.
  const std::vector<uint32_t>& order() const { return order_; }

 private:
  static constexpr uint32_t kNoEdge = UINT32_MAX;

  uint32_t first(size_t moment) const {
    return edges_[moment].kind == TimingEdge::Kind::none
               ? kNoEdge
               : static_cast<uint32_t>(moment);
  }
  uint32_t after(uint32_t edge) const {
    return edges_[edge].next == 0 ? kNoEdge : edges_[edge].next;
  }

  enum class Delay : uint8_t { none, as_recorded };
  void add(size_t to, TimingEdge::Kind kind, size_t from, Delay delay = Delay::none);
  void clear(size_t moment);
  void add_host_lanes();
  void add_tasks();
  void add_messages();
  void add_carried();
  bool sort_moments();
  [[noreturn]] void fail_on_circle() const;

  const Trace& trace_;
  const Lanes& lanes_;
  const Index index_;
  /// Most moments have one edge: edges_[moment]. Additional edges are stored after the
  /// first edges of all moments; each edge names the next one of its moment.
  std::vector<TimingEdge> edges_;
  std::vector<uint32_t> last_;  ///< of each moment that has several: its last edge
  std::vector<uint32_t> order_;
};

}  // namespace lockstep::tracer
