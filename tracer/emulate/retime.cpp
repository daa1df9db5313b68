#include "tracer/emulate/retime.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "base/memory.h"
#include "tracer/emulate/moments.h"
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

Wait wait_for_all(const TimingGraph& graph, const Weights& weights,
                  const Schedule& schedule, size_t moment) {
  Wait wait;
  for (const TimingEdge& edge : graph.edges(moment)) {
    const int64_t delay = delay_of(graph, edge, moment, weights);
    const int64_t time = add_within_range(schedule.times[edge.from], delay);
    if (time > wait.time) wait.time = time, wait.decisive = edge.from;
    const int64_t recorded =
        add_within_range(graph.recorded(edge.from), graph.delay(edge, moment));
    wait.recorded = std::max(wait.recorded, recorded);
  }
  return wait;
}

bool ends_sync(const TimingGraph& graph, size_t moment) {
  return TimingGraph::is_end(moment) && graph.edges(moment).front().kind == Kind::sync;
}

}  // namespace

int64_t delay_of(const TimingGraph& graph, const TimingEdge& edge, size_t to,
                 const Weights& weights) {
  const int64_t delay = graph.delay(edge, to);
  const bool host = edge.kind == Kind::host || edge.kind == Kind::parent;
  if (weights.host_scale == 1 || !host) return delay;
  return std::llround(static_cast<double>(delay) / weights.host_scale);
}

void place(const TimingGraph& graph, const Weights& weights, Schedule& schedule,
           size_t moment) {
  const Event& event = graph.trace().events[TimingGraph::event_of(moment)];
  int64_t& time = schedule.times[moment];
  schedule.decisive[moment] = static_cast<uint32_t>(moment);
  if (graph.edges(moment).empty()) {
    time = graph.recorded(moment);
    return;
  }
  const Wait wait = wait_for_all(graph, weights, schedule, moment);
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

std::optional<int64_t> put_off(Schedule& schedule, const Interference& interference,
                               size_t moment, int64_t now) {
  int64_t& time = schedule.times[moment];
  const size_t event = TimingGraph::event_of(moment);
  const int64_t start = schedule.times[TimingGraph::start_of(event)];
  const int64_t end = interference.end_of(moment, start, time - start, now);
  if (end > now) return end;
  time = now;
  return std::nullopt;
}

namespace {

/// Which copy holds each port, and until when.
class Ports {
 public:
  struct Holder {
    int64_t until = INT64_MIN;
    uint32_t copy = PortSchedule::kNoCopy;
  };

  /// Returns the later of the holders of the two ports of a route.
  Holder busy(const Route& route) const {
    const Holder out = find(sending_, route.src), in = find(receiving_, route.dst);
    return out.until > in.until ? out : in;
  }

  void hold(const Route& route, const Holder& holder) {
    if (route.src != kHost) sending_[route.src] = holder;
    if (route.dst != kHost) receiving_[route.dst] = holder;
  }

 private:
  using ByDevice = std::unordered_map<int64_t, Holder>;

  static Holder find(const ByDevice& ports, int64_t device) {
    const auto found = ports.find(device);
    return found == ports.end() ? Holder{} : found->second;
  }

  ByDevice sending_, receiving_;
};

/// Which copy gets a port first depends on which is ready first, so moments are taken
/// in the order of time, not in any order of the graph.
class PortScheduler {
 public:
  PortScheduler(const TimingGraph& graph, const Weights& weights, const RouteOf& route)
      : graph_(graph),
        weights_(weights),
        route_(route),
        followers_(graph),
        interference_(graph, weights) {
    schedule_.times.resize(graph.moments());
    schedule_.decisive.resize(graph.moments());
    schedule_.port_held_by.resize(graph.moments() / 2, PortSchedule::kNoCopy);
  }

  PortSchedule run() {
    for (const uint32_t moment : graph_.order()) {
      if (!followers_.waits(moment)) make_ready(moment);
    }
    while (!ready_.empty()) {
      const Ready next = ready_.top();
      ready_.pop();
      if (!takes_ports(next)) continue;
      if (const auto later =
              put_off(schedule_, interference_, next.moment, next.time)) {
        ready_.push({*later, next.since, next.moment});
        continue;
      }
      interference_.happens(next.moment, next.time);
      followers_.release(next.moment, [this](uint32_t moment) { make_ready(moment); });
    }
    return std::move(schedule_);
  }

 private:
  struct Ready {
    int64_t time;   ///< when it may happen; later if its port is busy until then
    int64_t since;  ///< when everything that it waits for was over
    uint32_t moment;
    bool operator>(const Ready& other) const {
      return std::tie(time, since, moment) >
             std::tie(other.time, other.since, other.moment);
    }
  };

  void make_ready(uint32_t moment) {
    place(graph_, weights_, schedule_, moment);
    ready_.push({schedule_.times[moment], schedule_.times[moment], moment});
  }

  /// Returns false if a copy has to wait for a port; it is ready again when that is
  /// free.
  bool takes_ports(const Ready& next) {
    if (TimingGraph::is_end(next.moment)) return true;
    const size_t event = TimingGraph::event_of(next.moment);
    const Event& task = graph_.trace().events[event];
    const std::optional<Route> route = route_(task);
    if (!route || route->src == route->dst) return true;
    const Ports::Holder holder = ports_.busy(*route);
    if (holder.until > next.time) {
      schedule_.times[next.moment] = holder.until;
      schedule_.decisive[next.moment] =
          static_cast<uint32_t>(TimingGraph::end_of(holder.copy));
      schedule_.port_held_by[event] = holder.copy;
      ready_.push({holder.until, next.since, next.moment});
      return false;
    }
    ports_.hold(*route, {add_within_range(next.time, weights_.duration(task)),
                         static_cast<uint32_t>(event)});
    return true;
  }

  const TimingGraph& graph_;
  const Weights& weights_;
  const RouteOf& route_;
  Followers followers_;
  Interference interference_;
  Ports ports_;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready_;
  PortSchedule schedule_;
};

}  // namespace

Schedule retime(const TimingGraph& graph, const Weights& weights) {
  Schedule schedule;
  reserve_huge(schedule.times, graph.moments());
  reserve_huge(schedule.decisive, graph.moments());
  schedule.times.resize(graph.moments());
  schedule.decisive.resize(graph.moments());
  for (const uint32_t moment : graph.order()) place(graph, weights, schedule, moment);
  return schedule;
}

PortSchedule retime_with_ports(const TimingGraph& graph, const Weights& weights,
                               const RouteOf& route) {
  return PortScheduler(graph, weights, route).run();
}

}  // namespace lockstep::tracer
