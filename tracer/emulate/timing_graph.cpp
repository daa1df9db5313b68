#include "tracer/emulate/timing_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/memory.h"
#include "base/program.h"
#include "tracer/format/facts.h"

namespace lockstep::tracer {

namespace {

using Kind = TimingEdge::Kind;

constexpr uint32_t kNobody = UINT32_MAX;

/// A thread is started by its caller; a loader worker is started by the event that
/// makes room for a batch.
int64_t caller_of(const Event& event) {
  return runs_ahead(event) ? int_arg(event.args, keys::after, kNone) : event.parent;
}

bool is_host_event(const Event& event) { return event.ph == 'X' && !is_task(event); }

/// The moments of host lanes in the order in which each thread reached them.
class HostLanes {
 public:
  /// A moment, with the needed facts of its event: the events of a lane are far apart.
  struct Passed {
    int64_t time;
    uint32_t moment;
    bool may_wait;  ///< the end of a sync, or the start of an event with a caller
  };

  explicit HostLanes(const Trace& trace) {
    for (size_t i = 0; i < trace.events.size(); ++i) {
      const Event& event = trace.events[i];
      if (!is_host_event(event)) continue;
      auto& [open, passed] = threads_[lane_of(event)];
      while (!open.empty() && open.back().time <= event.ts) {
        passed.push_back(open.back());
        open.pop_back();
      }
      const bool syncs = !event.waits_for.empty() && event.is(categories::sync);
      passed.push_back({event.ts, static_cast<uint32_t>(TimingGraph::start_of(i)),
                        event.parent != kNone || runs_ahead(event)});
      open.push_back(
          {event.end(), static_cast<uint32_t>(TimingGraph::end_of(i)), syncs});
    }
    for (auto& [lane, thread] : threads_) {
      auto& [open, passed] = thread;
      passed.insert(passed.end(), open.rbegin(), open.rend());
    }
  }

  struct Thread {
    std::vector<Passed> open, passed;
  };
  const LaneMap<Thread>& all() const { return threads_; }

  /// Returns the last moment of a lane at or before `time`; kNobody if there is none.
  uint32_t last_before(LaneKey lane, int64_t time) const {
    const Thread* thread = threads_.find(lane);
    if (thread == nullptr) return kNobody;
    const auto after = std::upper_bound(
        thread->passed.begin(), thread->passed.end(), time,
        [](int64_t at, const Passed& passed) { return at < passed.time; });
    return after == thread->passed.begin() ? kNobody : (after - 1)->moment;
  }

 private:
  LaneMap<Thread> threads_;
};

/// All moments of X events, and the starts of marks and counters, sorted by time.
class MomentsByTime {
 public:
  explicit MomentsByTime(const Trace& trace) : trace_(trace) {
    for (size_t i = 0; i < trace.events.size(); ++i) {
      if (trace.events[i].ph != 'M') starts_.push_back(static_cast<uint32_t>(i));
    }
    const auto earlier = [&](uint32_t a, uint32_t b) {
      return trace.events[a].ts < trace.events[b].ts;
    };
    if (!std::is_sorted(starts_.begin(), starts_.end(), earlier)) {
      std::stable_sort(starts_.begin(), starts_.end(), earlier);
    }
  }

  template <typename Visit>
  void each(Visit visit) {
    for (const uint32_t i : starts_) {
      const Event& event = trace_.events[i];
      const size_t start = TimingGraph::start_of(i);
      while (!ends_.empty() && ends_.top() < std::pair(event.ts, start)) {
        visit(ends_.top().second);
        ends_.pop();
      }
      visit(start);
      if (event.ph == 'X') ends_.emplace(event.end(), TimingGraph::end_of(i));
    }
    for (; !ends_.empty(); ends_.pop()) visit(ends_.top().second);
  }

 private:
  using End = std::pair<int64_t, size_t>;  // time, moment
  const Trace& trace_;
  std::vector<uint32_t> starts_;  ///< events
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

}  // namespace

TimingGraph::TimingGraph(const Trace& trace, const Lanes& lanes, Covers covers)
    : trace_(trace), lanes_(lanes), index_(trace), last_(moments()) {
  reserve_huge(edges_, moments() + trace.events.size() / 2);
  edges_.resize(moments());
  add_host_lanes();
  add_tasks();
  add_messages();
  if (covers == Covers::every_event) add_carried();
  last_ = {};
  if (!sort_moments()) fail_on_circle();
}

void TimingGraph::add(size_t to, Kind kind, size_t from, Delay delay) {
  const TimingEdge edge{static_cast<uint32_t>(from), delay == Delay::as_recorded, kind};
  if (edges_[to].kind == Kind::none) {
    edges_[to] = edge;
    return;
  }
  const auto place = static_cast<uint32_t>(edges_.size());
  edges_.push_back(edge);
  edges_[last_[to] == 0 ? to : last_[to]].next = place;
  last_[to] = place;
}

void TimingGraph::clear(size_t moment) {
  edges_[moment] = TimingEdge();
  last_[moment] = 0;
}

void TimingGraph::add_host_lanes() {
  const HostLanes lanes(trace_);
  for (const auto& [lane, thread] : lanes.all()) {
    const HostLanes::Passed* before = nullptr;
    for (const HostLanes::Passed& passed : thread.passed) {
      const auto [time, moment, may_wait] = passed;
      const uint32_t previous = before != nullptr ? before->moment : kNobody;
      const HostLanes::Passed* last = std::exchange(before, &passed);
      if (!may_wait) {
        if (last != nullptr) add(moment, Kind::host, previous, Delay::as_recorded);
        continue;
      }
      const Event& event = trace_.events[event_of(moment)];
      if (is_end(moment)) {
        add(moment, Kind::sync, previous);
        for (const int64_t id : event.waits_for) {
          if (index_.find(id)) add(moment, Kind::sync, end_of(index_.position(id)));
        }
        continue;
      }
      // A thread that was idle when its parent began was started by the parent;
      // a loader worker that was idle when its caller was last seen was started
      // by what the caller did then. Otherwise, it simply continues.
      const Event* parent = index_.find(caller_of(event));
      uint32_t caller = parent && lane_of(*parent) != lane
                            ? lanes.last_before(lane_of(*parent), event.ts)
                            : kNobody;
      if (caller != kNobody && previous != kNobody) {
        const bool ahead = runs_ahead(event);
        const bool idle = recorded(previous) < (ahead ? recorded(caller) : parent->ts);
        if (!idle && ahead && parent->ts <= event.ts) {
          add(moment, Kind::parent, start_of(index_.position(parent->id)));
        }
        if (!idle) caller = kNobody;
      }
      if (caller != kNobody) add(moment, Kind::parent, caller, Delay::as_recorded);
      if (previous != kNobody) {
        add(moment, Kind::host, previous,
            caller != kNobody ? Delay::none : Delay::as_recorded);
      }
    }
  }
}

void TimingGraph::add_tasks() {
  struct Stream {
    uint32_t last = kNobody;        ///< task, or message of the task's collective
    uint32_t collective = kNobody;  ///< enclosing the messages
  };
  LaneMap<Stream> streams;
  for (size_t i = 0; i < trace_.events.size(); ++i) {
    const Event& event = trace_.events[i];
    if (!is_task(event)) continue;
    const size_t start = start_of(i);
    if (event.op != kNone && index_.find(event.op)) {
      add(start, Kind::launch, start_of(index_.position(event.op)));
    }
    for (const int64_t id : event.deps) {
      if (index_.find(id)) add(start, Kind::deps, end_of(index_.position(id)));
    }
    if (const int64_t copy = int_arg(event.args, keys::port_held_by, kNone);
        copy != kNone && index_.find(copy)) {
      add(start, Kind::port, end_of(index_.position(copy)));
    }
    Stream& stream = streams[lane_of(event)];
    const bool is_collective = event.is(categories::collective);
    const uint32_t around = stream.collective;
    const bool inside = around != kNobody && !is_collective &&
                        event.end() <= trace_.events[around].end();
    if (inside && stream.last == around) {
      add(start, Kind::message, start_of(around));
    } else if (stream.last != kNobody) {
      // A collective may end later than the last message that this device received.
      const bool after_collective = !inside && around != kNobody;
      add(start, Kind::fifo, end_of(after_collective ? around : stream.last));
      if (after_collective && stream.last != around) {
        add(start, Kind::fifo, end_of(stream.last));
      }
    }
    if (!inside) stream.collective = kNobody;
    stream.last = static_cast<uint32_t>(i);
    if (is_collective) stream.collective = static_cast<uint32_t>(i);
    add(end_of(i), Kind::task, start, Delay::as_recorded);
    if (inside) {  // the last message determines when the collective ends
      clear(end_of(around));
      add(end_of(around), Kind::message, end_of(i));
    }
  }
}

/// A message starts to move only after its sender, too, has joined the collective. If
/// the sender's collective ended after the message arrived, it waits for the arrival.
void TimingGraph::add_messages() {
  using Key = std::tuple<int64_t, std::string_view, int64_t>;  // device, group, seq
  const auto number = [](int64_t seq) { return seq == kNone ? 0 : seq; };
  std::map<Key, size_t> collectives;
  for (size_t i = 0; i < trace_.events.size(); ++i) {
    const Event& event = trace_.events[i];
    if (event.ph != 'X' || !event.is(categories::collective)) continue;
    const CollectiveFacts facts = collective_facts(event);
    collectives.emplace(Key(lanes_.of(event).device, facts.group, number(facts.seq)),
                        i);
  }
  if (collectives.empty()) return;
  for (size_t i = 0; i < trace_.events.size(); ++i) {
    const Event& event = trace_.events[i];
    if (!event.is(categories::copy) || !event.args.may_hold(keys::group)) continue;
    const CopyFacts copy = copy_facts(event);
    if (!copy.is_message) continue;
    const auto sender = collectives.find({copy.src, copy.group, number(copy.seq)});
    if (sender == collectives.end() || trace_.events[sender->second].ts > event.ts) {
      continue;
    }
    add(start_of(i), Kind::message, start_of(sender->second));
    if (event.end() > trace_.events[sender->second].end()) continue;
    const size_t end = end_of(sender->second);
    if (edges(end).front().kind == Kind::task) clear(end);
    add(end, Kind::message, end_of(i));
  }
}

/// A mark moves with the kernel that caused it, or with its lane; a counter moves
/// with the host threads of its rank, because memory is counted in their order; the
/// counters of a device keep theirs.
void TimingGraph::add_carried() {
  const bool any = std::any_of(
      trace_.events.begin(), trace_.events.end(),
      [](const Event& event) { return event.ph != 'X' && event.ph != 'M'; });
  if (!any) return;
  struct Last {
    uint32_t moment = kNobody;
    uint32_t rank = kNobody;  ///< 1 + index into `host_last`; 0: not looked up yet
  };
  LaneMap<Last> lane_last;
  std::map<int64_t, size_t> counter_last;  // by pid: a counter belongs to its process
  LaneMap<uint32_t> ranks;                 // 1 + index into `host_last`
  std::vector<uint32_t> host_last;         // by rank
  const auto last_on = [&](const Event& event) -> Last& {
    Last& last = lane_last[lane_of(event)];
    if (last.rank != kNobody) return last;
    uint32_t& rank = ranks[{lanes_.of(event).rank, 0}];
    if (rank == 0) {
      host_last.push_back(kNobody);
      rank = static_cast<uint32_t>(host_last.size());
    }
    last.rank = rank - 1;
    return last;
  };
  MomentsByTime(trace_).each([&](size_t moment) {
    const size_t i = event_of(moment);
    const Event& event = trace_.events[i];
    Last& last = last_on(event);
    if (event.ph == 'X') {
      last.moment = static_cast<uint32_t>(moment);
      if (!is_task(event)) host_last[last.rank] = static_cast<uint32_t>(moment);
      return;
    }
    uint32_t anchor = kNobody;
    if (const int64_t by = int_arg(event.args, keys::by, kNone);
        by != kNone && index_.find(by)) {
      anchor = static_cast<uint32_t>(end_of(index_.position(by)));
    }
    if (anchor == kNobody && event.ph == 'C') {
      anchor = host_last[last.rank];
      if (anchor == kNobody) anchor = last.moment;
      const auto [before, first] = counter_last.emplace(event.pid, moment);
      if (!first) {
        const size_t previous = std::exchange(before->second, moment);
        if (anchor == kNobody) anchor = static_cast<uint32_t>(previous);
        add(moment, Kind::carried, previous);
      }
    }
    if (anchor == kNobody) anchor = last.moment;
    if (anchor != kNobody) {
      add(moment, Kind::carried, anchor, Delay::as_recorded);
    }
    add(end_of(i), Kind::carried, moment, Delay::as_recorded);
  });
}

/// Walks from each moment to the moments it waits for, skipping those
/// already visited. Returns false if some moment waits for itself.
bool TimingGraph::sort_moments() {
  enum State : uint8_t { unseen, waiting, sorted };
  std::vector<uint8_t> states(moments(), unseen);
  std::vector<std::pair<uint32_t, uint32_t>> path;  // moment and its next edge
  reserve_huge(order_, moments());
  for (size_t moment = 0; moment < moments(); ++moment) {
    if (states[moment] != unseen) continue;
    states[moment] = waiting;
    path.emplace_back(static_cast<uint32_t>(moment), first(moment));
    while (!path.empty()) {
      auto& [at, edge] = path.back();
      while (edge != kNoEdge && states[edges_[edge].from] == sorted) {
        edge = after(edge);
      }
      if (edge == kNoEdge) {
        states[at] = sorted;
        order_.push_back(at);
        path.pop_back();
        continue;
      }
      const uint32_t from = edges_[edge].from;
      if (states[from] == waiting) return false;
      states[from] = waiting;
      path.emplace_back(from, first(from));
    }
  }
  return true;
}

/// Throws an error that names the first event that waits for itself or for one that
/// does.
void TimingGraph::fail_on_circle() const {
  std::vector<std::vector<uint32_t>> followers(moments());
  std::vector<uint32_t> missing(moments()), free;
  for (size_t moment = 0; moment < moments(); ++moment) {
    for (const TimingEdge& edge : edges(moment)) {
      followers[edge.from].push_back(static_cast<uint32_t>(moment));
      ++missing[moment];
    }
    if (missing[moment] == 0) free.push_back(static_cast<uint32_t>(moment));
  }
  while (!free.empty()) {
    const uint32_t moment = free.back();
    free.pop_back();
    for (const uint32_t follower : followers[moment]) {
      if (--missing[follower] == 0) free.push_back(follower);
    }
  }
  const auto stuck = std::find_if(missing.begin(), missing.end(),
                                  [](uint32_t count) { return count > 0; });
  const auto event = event_of(static_cast<size_t>(stuck - missing.begin()));
  throw std::runtime_error(
      fmt::format("event #{} waits for itself through a cycle of waits; fix: run `{} "
                  "trace check` to see where the trace is damaged",
                  trace_.events[event].id, program()));
}

}  // namespace lockstep::tracer
