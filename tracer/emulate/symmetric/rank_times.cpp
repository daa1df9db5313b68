#include "tracer/emulate/symmetric/rank_times.h"

#include <algorithm>

#include "tracer/format/lanes.h"

namespace lockstep::tracer {

namespace {

using Kind = TimingEdge::Kind;

}  // namespace

RankTimes::RankTimes(const TimingGraph& graph, const Weights& weights,
                     std::span<const uint32_t> inputs)
    : width_(inputs.size() + 1),
      times_(graph.moments() * width_, kNever),
      last_(width_, kNever) {
  std::vector<uint32_t> input_of(graph.moments());  // 1 + its index; 0: none
  for (size_t i = 0; i < inputs.size(); ++i) {
    input_of[inputs[i]] = static_cast<uint32_t>(i) + 1;
  }
  for (const uint32_t moment : graph.order()) {
    int64_t* own = &times_[moment * width_];
    if (input_of[moment] != 0) {
      own[input_of[moment]] = 0;
    } else if (graph.edges(moment).empty()) {
      own[0] = graph.recorded(moment);
    } else {
      place(graph, weights, moment);
    }
    const Event& event = graph.trace().events[TimingGraph::event_of(moment)];
    if (event.ph != 'X' || !TimingGraph::is_end(moment)) continue;
    for (size_t i = 0; i < width_; ++i) last_[i] = std::max(last_[i], own[i]);
  }
}

/// As tracer/emulate/retime.cpp places a moment, once for each term.
void RankTimes::place(const TimingGraph& graph, const Weights& weights, size_t moment) {
  const size_t index = TimingGraph::event_of(moment);
  const Event& event = graph.trace().events[index];
  int64_t* own = &times_[moment * width_];
  const auto add = [&](size_t from, int64_t delay) {
    const int64_t* before = &times_[from * width_];
    for (size_t i = 0; i < width_; ++i) own[i] = std::max(own[i], before[i] + delay);
  };
  const TimingEdge& front = graph.edges(moment).front();
  if (front.kind == Kind::task) {
    return add(TimingGraph::start_of(index), weights.duration(event));
  }
  int64_t recorded = INT64_MIN;
  for (const TimingEdge& edge : graph.edges(moment)) {
    add(edge.from, delay_of(graph, edge, moment, weights));
    recorded =
        std::max(recorded, graph.recorded(edge.from) + graph.delay(edge, moment));
  }
  const int64_t spare = graph.recorded(moment) - recorded;
  int64_t more = 0;
  if (TimingGraph::is_end(moment) && front.kind == Kind::sync) {
    more = weights.lag(event, spare);
  } else if (is_task(event)) {
    more = weights.gap(event, spare);
  }
  for (size_t i = 0; i < width_ && more != 0; ++i) own[i] += more;
}

}  // namespace lockstep::tracer
