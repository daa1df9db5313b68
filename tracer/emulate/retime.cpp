#include "tracer/emulate/retime.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>
#include <unordered_map>

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

/// Computes when a moment happens, from the times of everything that it waits for.
void place(const TimingGraph& graph, const Weights& weights, Schedule& schedule,
           size_t moment) {
  const Event& event = graph.trace().events[TimingGraph::event_of(moment)];
  int64_t& time = schedule.times[moment];
  schedule.decisive[moment] = static_cast<uint32_t>(moment);
  if (graph.edges(moment).empty()) {
    time = graph.recorded(moment);
    return;
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

  /// Calls `visit` for each moment that waited for this one last.
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

}  // namespace

Schedule retime(const TimingGraph& graph, const Weights& weights) {
  Schedule schedule;
  schedule.times.resize(graph.moments());
  schedule.decisive.resize(graph.moments());
  for (const uint32_t moment : graph.order()) place(graph, weights, schedule, moment);
  return schedule;
}

// Who gets a port depends on who is ready first, so this runs in the order of time.
PortSchedule retime_with_ports(
    const TimingGraph& graph, const Weights& weights,
    const std::function<std::optional<Route>(const Event&)>& route) {
  PortSchedule schedule;
  schedule.times.resize(graph.moments());
  schedule.decisive.resize(graph.moments());
  schedule.port_held_by.resize(graph.moments() / 2, PortSchedule::kNoCopy);
  Followers followers(graph);
  Ports ports;

  struct Pending {
    int64_t time, ready;  ///< when to try; when everything that it waits for was over
    uint32_t moment;
    bool operator>(const Pending& other) const {
      return std::tie(time, ready, moment) >
             std::tie(other.time, other.ready, other.moment);
    }
  };
  std::priority_queue<Pending, std::vector<Pending>, std::greater<>> queue;
  const auto add = [&](uint32_t moment) {
    place(graph, weights, schedule, moment);
    queue.push({schedule.times[moment], schedule.times[moment], moment});
  };
  for (const uint32_t moment : graph.order()) {
    if (!followers.waits(moment)) add(moment);
  }
  while (!queue.empty()) {
    const Pending next = queue.top();
    queue.pop();
    const size_t event = TimingGraph::event_of(next.moment);
    const Event& task = graph.trace().events[event];
    const auto used = TimingGraph::is_end(next.moment) ? std::nullopt : route(task);
    if (used && used->src != used->dst) {
      const Ports::Holder holder = ports.busy(*used);
      if (holder.until > next.time) {
        schedule.times[next.moment] = holder.until;
        schedule.decisive[next.moment] =
            static_cast<uint32_t>(TimingGraph::end_of(holder.copy));
        schedule.port_held_by[event] = holder.copy;
        queue.push({holder.until, next.ready, next.moment});
        continue;
      }
      ports.hold(*used, {add_within_range(next.time, weights.duration(task)),
                         static_cast<uint32_t>(event)});
    }
    followers.release(next.moment, add);
  }
  return schedule;
}

}  // namespace lockstep::tracer
