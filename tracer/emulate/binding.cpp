#include "tracer/emulate/binding.h"

#include <algorithm>
#include <optional>

#include "tracer/emulate/timing_graph.h"
#include "tracer/format/facts.h"
#include "tracer/format/lanes.h"

namespace lockstep::tracer {

namespace {

using EdgeKind = TimingEdge::Kind;

Binding::Kind kind_of_edge(EdgeKind edge) {
  switch (edge) {
    case EdgeKind::deps:
      return Binding::Kind::data;
    case EdgeKind::fifo:
      return Binding::Kind::order;
    case EdgeKind::port:
      return Binding::Kind::link;
    case EdgeKind::message:
      return Binding::Kind::ranks;
    default:
      return Binding::Kind::host;
  }
}

struct Decisive {
  int64_t time = INT64_MIN;  ///< when the last of what it waits for happens
  EdgeKind edge = EdgeKind::none;
  size_t from = 0;
  int64_t without_fifo = INT64_MIN;  ///< … of all but its own stream
};

Decisive decisive_edge(const TimingGraph& graph, size_t start) {
  Decisive found;
  for (const TimingEdge& edge : graph.edges(start)) {
    const int64_t time = graph.recorded(edge.from) + graph.delay(edge, start);
    if (edge.kind != EdgeKind::fifo)
      found.without_fifo = std::max(found.without_fifo, time);
    const bool later = time > found.time;
    if (!later) continue;
    found.time = time;
    found.edge = edge.kind;
    found.from = edge.from;
  }
  return found;
}

bool is_message_of_collective(const Event& event) {
  return event.is(categories::copy) && event.args.may_hold(keys::group) &&
         copy_facts(event).is_message;
}

}  // namespace

const char* binding_word(Binding::Kind kind) {
  static constexpr const char* kWords[] = {"data",  "order rule", "link",
                                           "ranks", "host",       "core"};
  return kWords[static_cast<size_t>(kind)];
}

std::vector<Binding> find_bindings(const Trace& trace) {
  const Lanes lanes(trace);
  const TimingGraph graph(trace, lanes, TimingGraph::Covers::complete_events);
  LaneMap<std::optional<int64_t>> ends;  // of each stream: its last task until now
  std::vector<Binding> bindings;
  for (size_t i = 0; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (event.ph != 'X' || !is_task(event) || is_message_of_collective(event)) continue;
    const size_t start = TimingGraph::start_of(i);
    const Decisive decisive = decisive_edge(graph, start);
    std::optional<int64_t>& last = ends[lane_of(event)];
    const std::optional<int64_t> before = last;
    last = std::max(last.value_or(event.end()), event.end());
    Binding binding{kind_of_edge(decisive.edge), event.id,
                    trace.events[TimingGraph::event_of(decisive.from)].id,
                    before.value_or(event.ts), event.ts};
    if (decisive.edge == EdgeKind::none || event.ts > decisive.time) {
      binding.kind = Binding::Kind::core;
    }
    const bool in_turn = decisive.edge == EdgeKind::fifo &&
                         event.is(categories::collective) &&
                         decisive.without_fifo != INT64_MIN;
    if (in_turn) binding.begin = decisive.without_fifo;
    if (binding.end > binding.begin) bindings.push_back(binding);
  }
  return bindings;
}

}  // namespace lockstep::tracer
