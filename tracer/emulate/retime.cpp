#include "tracer/emulate/retime.h"

#include <algorithm>

#include "tracer/format/lanes.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

using Kind = TimingEdge::Kind;

// Events lie between these (see times.h), so the difference of two times is in range.
constexpr int64_t kEarliest = -kMaxTime;
constexpr int64_t kLatest = 2 * kMaxTime;

struct Wait {
  int64_t time = INT64_MIN;      ///< when the last awaited event happens now
  int64_t recorded = INT64_MIN;  ///< when the last awaited event happened as recorded
  uint32_t decisive = 0;
};

Wait wait_for_all(const TimingGraph& graph, const Schedule& schedule, size_t moment) {
  Wait wait;
  for (const TimingEdge& edge : graph.edges(moment)) {
    const int64_t time = add_within_range(schedule.times[edge.from], edge.delay);
    if (time > wait.time) wait.time = time, wait.decisive = edge.from;
    const int64_t recorded = add_within_range(graph.recorded(edge.from), edge.delay);
    wait.recorded = std::max(wait.recorded, recorded);
  }
  return wait;
}

bool ends_sync(const TimingGraph& graph, size_t moment) {
  return TimingGraph::is_end(moment) && graph.edges(moment).front().kind == Kind::sync;
}

}  // namespace

Schedule retime(const TimingGraph& graph, const Weights& weights) {
  Schedule schedule;
  schedule.times.resize(graph.moments());
  schedule.decisive.resize(graph.moments());
  for (const uint32_t moment : graph.order()) {
    const Event& event = graph.trace().events[TimingGraph::event_of(moment)];
    int64_t& time = schedule.times[moment];
    schedule.decisive[moment] = moment;
    if (graph.edges(moment).empty()) {
      time = graph.recorded(moment);
      continue;
    }
    const Wait wait = wait_for_all(graph, schedule, moment);
    const int64_t spare = graph.recorded(moment) - wait.recorded;
    schedule.decisive[moment] = wait.decisive;
    time = wait.time;
    if (graph.edges(moment).front().kind == Kind::task) {
      time = schedule.times[TimingGraph::start_of(TimingGraph::event_of(moment))];
      time = add_within_range(time, weights.duration(event));
    } else if (ends_sync(graph, moment)) {
      time = add_within_range(time, weights.lag(event, spare));
    } else if (is_task(event)) {
      time = add_within_range(time, weights.gap(event, spare));
    }
    time = std::clamp(time, kEarliest, kLatest);
  }
  return schedule;
}

}  // namespace lockstep::tracer
