#include "tracer/emulate/timing_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>

#include "base/program.h"
#include "tracer/format/args.h"
#include "tracer/format/index.h"
#include "tracer/format/lanes.h"

namespace lockstep::tracer {

namespace {

using Kind = TimingEdge::Kind;

/// A thread is set to work by its caller, a loader's worker by who makes room for it.
int64_t caller_of(const Event& event) {
  return runs_ahead(event) ? int_arg(event.args, "after", kNone) : event.parent;
}

bool is_host_event(const Event& event) { return event.ph == 'X' && !is_task(event); }

/// The moments of host lanes in the order in which each thread passed them.
class HostLanes {
 public:
  explicit HostLanes(const Trace& trace) {
    std::map<LaneKey, std::vector<size_t>> open;
    for (size_t i = 0; i < trace.events.size(); ++i) {
      const Event& event = trace.events[i];
      if (!is_host_event(event)) continue;
      const LaneKey lane = lane_of(event);
      auto& stack = open[lane];
      while (!stack.empty() && trace.events[stack.back()].end() <= event.ts) {
        passed_[lane].push_back(TimingGraph::end_of(stack.back()));
        stack.pop_back();
      }
      outermost_.push_back(stack.empty());
      passed_[lane].push_back(TimingGraph::start_of(i));
      stack.push_back(i);
    }
    for (auto& [lane, stack] : open) {
      for (; !stack.empty(); stack.pop_back()) {
        passed_[lane].push_back(TimingGraph::end_of(stack.back()));
      }
    }
  }

  const std::map<LaneKey, std::vector<size_t>>& all() const { return passed_; }

  /// The last moment of a lane at or before `time`; nothing when there is none.
  const size_t* last_before(const TimingGraph& graph, LaneKey lane,
                            int64_t time) const {
    const auto found = passed_.find(lane);
    if (found == passed_.end()) return nullptr;
    const auto& moments = found->second;
    const auto after = std::upper_bound(
        moments.begin(), moments.end(), time,
        [&](int64_t at, size_t moment) { return at < graph.recorded(moment); });
    return after == moments.begin() ? nullptr : &*(after - 1);
  }

 private:
  std::map<LaneKey, std::vector<size_t>> passed_;
  std::vector<bool> outermost_;
};

}  // namespace

TimingGraph::TimingGraph(const Trace& trace)
    : trace_(trace), edges_(2 * trace.events.size()) {
  add_host_lanes();
  add_tasks();
  add_messages();
  add_carried();
  sort_moments();
}

int64_t TimingGraph::recorded(size_t moment) const {
  const Event& event = trace_.events[event_of(moment)];
  return is_end(moment) ? event.end() : event.ts;
}

void TimingGraph::add(size_t to, Kind kind, size_t from, int64_t delay) {
  edges_[to].push_back({kind, from, delay});
}

void TimingGraph::add_host_lanes() {
  const Index index(trace_);
  const HostLanes lanes(trace_);
  const auto since = [&](size_t moment, size_t from) {
    return recorded(moment) - recorded(from);
  };
  for (const auto& [lane, moments] : lanes.all()) {
    for (size_t i = 0; i < moments.size(); ++i) {
      const size_t moment = moments[i];
      const Event& event = trace_.events[event_of(moment)];
      const size_t* before = i == 0 ? nullptr : &moments[i - 1];

      if (is_end(moment) && event.is("sync") && !event.waits_for.empty()) {
        add(moment, Kind::sync, *before);
        for (const int64_t id : event.waits_for) {
          if (index.find(id)) add(moment, Kind::sync, end_of(index.position(id)));
        }
        continue;
      }
      // A thread that was idle when its parent began was started by the parent, a
      // loader's worker that was idle when its caller was last seen by what the caller
      // did then; otherwise it simply goes on.
      const Event* parent = is_end(moment) ? nullptr : index.find(caller_of(event));
      const size_t* caller = parent && lane_of(*parent) != lane
                                 ? lanes.last_before(*this, lane_of(*parent), event.ts)
                                 : nullptr;
      if (caller && before) {
        const bool ahead = runs_ahead(event);
        const bool idle = recorded(*before) < (ahead ? recorded(*caller) : parent->ts);
        if (!idle && ahead && parent->ts <= event.ts) {
          add(moment, Kind::parent, start_of(index.position(parent->id)));
        }
        if (!idle) caller = nullptr;
      }
      if (caller) add(moment, Kind::parent, *caller, since(moment, *caller));
      if (before) {
        add(moment, Kind::host, *before, caller ? 0 : since(moment, *before));
      }
    }
  }
}

void TimingGraph::add_tasks() {
  const Index index(trace_);
  std::map<LaneKey, size_t> last;        // task of a lane, or message of its collective
  std::map<LaneKey, size_t> collective;  // around the messages of a lane
  for (size_t i = 0; i < trace_.events.size(); ++i) {
    const Event& event = trace_.events[i];
    if (!is_task(event)) continue;
    const size_t start = start_of(i);
    if (event.op != kNone && index.find(event.op)) {
      add(start, Kind::launch, start_of(index.position(event.op)));
    }
    for (const int64_t id : event.deps) {
      if (index.find(id)) add(start, Kind::deps, end_of(index.position(id)));
    }
    const auto around = collective.find(lane_of(event));
    const bool inside = around != collective.end() && !event.is("collective") &&
                        event.end() <= trace_.events[around->second].end();
    const auto [previous, is_first] = last.try_emplace(lane_of(event), i);
    if (inside && previous->second == around->second) {
      add(start, Kind::message, start_of(around->second));
    } else if (!is_first) {
      add(start, Kind::fifo, end_of(previous->second));
    }
    previous->second = i;
    if (event.is("collective")) collective[lane_of(event)] = i;
    add(end_of(i), Kind::task, start, event.dur);
    if (inside) {  // the last message decides when the collective ends
      edges_[end_of(around->second)] = {{Kind::message, end_of(i), 0}};
    }
  }
}

/// A message begins to move only when its sender takes part in the collective, too; and
/// where a sender waits until its message has arrived, it does so before it goes on.
void TimingGraph::add_messages() {
  const Lanes lanes(trace_);
  using Key = std::tuple<int64_t, std::string, int64_t>;  // device, group, seq
  const auto key = [](int64_t device, const Event& event) {
    return Key{device, string_arg(event.args, "group"), int_arg(event.args, "seq")};
  };
  std::map<Key, size_t> collectives;
  for (size_t i = 0; i < trace_.events.size(); ++i) {
    const Event& event = trace_.events[i];
    if (event.ph != 'X' || !event.is("collective")) continue;
    collectives.emplace(key(lanes.of(event).device, event), i);
  }
  for (size_t i = 0; i < trace_.events.size(); ++i) {
    const Event& event = trace_.events[i];
    if (!event.is("copy") || !event.args.contains("group")) continue;
    const auto sender = collectives.find(key(port_arg(event.args, "src"), event));
    if (sender == collectives.end() || trace_.events[sender->second].ts > event.ts) {
      continue;
    }
    add(start_of(i), Kind::message, start_of(sender->second));
    if (event.end() > trace_.events[sender->second].end()) continue;
    auto& ends = edges_[end_of(sender->second)];
    if (ends.front().kind == Kind::task) ends.clear();
    ends.push_back({Kind::message, end_of(i), 0});
  }
}

/// A mark moves with the kernel that caused it, or with its own lane; a counter with
/// the host threads of its rank, because memory is counted in their order.
void TimingGraph::add_carried() {
  const Index index(trace_);
  const Lanes lanes(trace_);
  std::map<LaneKey, size_t> lane_last;
  std::map<int64_t, size_t> host_last;  // by rank
  const auto pass = [&](size_t moment) {
    const Event& event = trace_.events[event_of(moment)];
    const auto keep_later = [&](size_t& last) {
      if (recorded(last) <= recorded(moment)) last = moment;
    };
    keep_later(lane_last.try_emplace(lane_of(event), moment).first->second);
    if (is_task(event)) return;
    const int64_t rank = lanes.of(event).rank;
    keep_later(host_last.try_emplace(rank, moment).first->second);
  };

  // Moments of X events in order of time, so that "before" can be looked up.
  std::vector<size_t> timed;
  for (size_t i = 0; i < trace_.events.size(); ++i) {
    if (trace_.events[i].ph == 'M') continue;
    timed.push_back(start_of(i));
    if (trace_.events[i].ph == 'X') timed.push_back(end_of(i));
  }
  std::stable_sort(timed.begin(), timed.end(),
                   [&](size_t a, size_t b) { return recorded(a) < recorded(b); });

  for (const size_t moment : timed) {
    const size_t i = event_of(moment);
    const Event& event = trace_.events[i];
    if (event.ph == 'X') {
      pass(moment);
      continue;
    }
    const size_t* anchor = nullptr;
    const auto look_up = [&](const auto& last, const auto& key) {
      const auto found = last.find(key);
      return found == last.end() ? nullptr : &found->second;
    };
    size_t by_end = 0;
    if (const int64_t by = int_arg(event.args, "by", kNone);
        by != kNone && index.find(by)) {
      by_end = end_of(index.position(by));
      anchor = &by_end;
    }
    if (!anchor && event.ph == 'C') anchor = look_up(host_last, lanes.of(event).rank);
    if (!anchor) anchor = look_up(lane_last, lane_of(event));
    if (anchor)
      add(moment, Kind::carried, *anchor, recorded(moment) - recorded(*anchor));
    add(end_of(i), Kind::carried, moment, event.dur);
  }
}

void TimingGraph::sort_moments() {
  std::vector<std::vector<size_t>> followers(moments());
  std::vector<size_t> missing(moments());
  for (size_t moment = 0; moment < moments(); ++moment) {
    missing[moment] = edges_[moment].size();
    for (const TimingEdge& edge : edges_[moment]) {
      followers[edge.from].push_back(moment);
    }
    if (missing[moment] == 0) order_.push_back(moment);
  }
  for (size_t next = 0; next < order_.size(); ++next) {
    for (const size_t follower : followers[order_[next]]) {
      if (--missing[follower] == 0) order_.push_back(follower);
    }
  }
  if (order_.size() == moments()) return;
  const auto stuck = std::find_if(missing.begin(), missing.end(),
                                  [](size_t count) { return count > 0; });
  const auto event = event_of(static_cast<size_t>(stuck - missing.begin()));
  throw std::runtime_error(
      fmt::format("event #{} waits, in the end, for itself: the trace is damaged. "
                  "`{} trace check` says where",
                  trace_.events[event].id, program()));
}

}  // namespace lockstep::tracer
