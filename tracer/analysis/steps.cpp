#include "tracer/analysis/steps.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "tracer/format/index.h"
#include "tracer/format/own_pace.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

bool is_step(const Event& event) {
  return event.ph == 'X' && event.is(categories::phase) && event.name == names::step &&
         event.step != kNone;
}

Step read_facts(const Event& event, int64_t rank) {
  Step step;
  step.event = &event;
  step.number = event.step;
  step.rank = rank;
  step.train = text_arg(event.args, keys::kind) != values::eval;
  step.interrupted = bool_arg(event.args, keys::interrupted);
  step.batch = int_arg(event.args, keys::batch);
  step.input_bytes = int_arg(event.args, keys::input_bytes);
  step.label_bytes = int_arg(event.args, keys::label_bytes);
  step.output_bytes = int_arg(event.args, keys::output_bytes);
  step.chunks = ints_arg(event.args, keys::chunks);
  step.input_on_device = text_arg(event.args, keys::input_on) == values::device0;
  step.imported = bool_arg(event.args, keys::imported);
  step.own_pace = at_own_pace(event.args);
  step.begin = event.ts;
  step.last_end = step.host_end = event.end();
  return step;
}

/// Returns when this rank's devices finished the last task that was launched before the
/// first step; the step's begin if that is later.
int64_t end_before(const Step& first, const Trace& trace, const Lanes& lanes) {
  int64_t own = INT64_MAX, end = first.begin;
  for (const Event* task : first.tasks) own = std::min(own, task->ts);
  if (own == INT64_MAX) return end;
  for (const Event& event : trace.events) {
    const bool before = event.ph == 'X' && event.step == kNone && event.end() < own;
    if (!before || !is_task(event) || lanes.of(event).rank != first.rank) continue;
    end = std::max(end, event.end());
  }
  return end;
}

/// The phases in which servers that are processes handle requests, by time, of each
/// lane.
class ServerPhases {
 public:
  explicit ServerPhases(const Trace& trace) {
    for (const Event& event : trace.events) {  // sorted by time
      if (event.ph != 'X' || !event.is(categories::phase)) continue;
      if (event.args.contains(keys::worker)) phases_[lane_of(event)].push_back(&event);
    }
  }

  /// Returns the worker for which a server has called this; kNone if it has not.
  int64_t worker_of(const Event& call) const {
    const auto lane = phases_.find(lane_of(call));
    if (lane == phases_.end()) return kNone;
    const auto next = std::ranges::upper_bound(
        lane->second, call.ts, {}, [](const Event* phase) { return phase->ts; });
    if (next == lane->second.begin()) return kNone;
    const Event& phase = **std::prev(next);
    return call.ts < phase.end() ? int_arg(phase.args, keys::worker) : kNone;
  }

 private:
  std::map<LaneKey, std::vector<const Event*>> phases_;
};

/// Makes each step begin where the previous one on its rank ends.
void line_up(std::vector<Step>& steps) {
  std::map<int64_t, int64_t> ends;  // by rank
  for (Step& step : steps) {        // sorted by time
    if (!step.imported && !step.is_only_a_span()) continue;
    const auto [end, is_first] = ends.try_emplace(step.rank, step.begin);
    step.begin = std::max(step.begin, end->second);
    step.last_end = std::max(step.last_end, step.begin);
    end->second = step.last_end;
  }
}

/// Each rank at its own pace is in every joined step, from its first one to its last.
void widen_rank_spans(std::vector<Step>& joined) {
  std::map<int64_t, std::pair<int64_t, int64_t>> whole;
  for (const Step& step : joined) {
    for (const auto& [rank, span] : step.rank_spans) {
      const auto [all, is_new] = whole.try_emplace(rank, span);
      all->second.first = std::min(all->second.first, span.first);
      all->second.second = std::max(all->second.second, span.second);
    }
  }
  for (Step& step : joined) {
    if (step.is_only_a_span()) step.rank_spans = whole;
  }
}

}  // namespace

bool Step::has_phase(const char* name) const {
  return std::any_of(phases.begin(), phases.end(),
                     [&](const Event* phase) { return phase->name == name; });
}

std::vector<Step> join_ranks(std::vector<Step> steps) {
  std::vector<Step> joined;
  std::map<int64_t, size_t> places;  // by number
  for (Step& step : steps) {         // sorted by time: the first rank comes first
    step.rank_lengths[step.rank] = step.length();
    step.rank_spans[step.rank] = {step.begin, step.last_end};
    const auto [place, is_new] = places.try_emplace(step.number, joined.size());
    if (is_new) {
      joined.push_back(std::move(step));
      continue;
    }
    Step& all = joined[place->second];
    all.rank = kNone;
    all.interrupted |= step.interrupted;
    for (auto sum :
         {&Step::batch, &Step::input_bytes, &Step::label_bytes, &Step::output_bytes}) {
      all.*sum = add_within_range(all.*sum, step.*sum);
    }
    all.phases.insert(all.phases.end(), step.phases.begin(), step.phases.end());
    all.tasks.insert(all.tasks.end(), step.tasks.begin(), step.tasks.end());
    all.begin = std::min(all.begin, step.begin);
    all.last_end = std::max(all.last_end, step.last_end);
    all.host_end = std::max(all.host_end, step.host_end);
    all.rank_lengths.merge(step.rank_lengths);
    all.rank_spans.merge(step.rank_spans);
  }
  widen_rank_spans(joined);
  line_up(joined);
  return joined;
}

std::vector<Step> find_steps(const Trace& trace, const Lanes& lanes) {
  std::vector<Step> steps;
  LaneMap<size_t> places;  // by step number and rank: 1 + index
  for (const Event& event : trace.events) {
    if (!is_step(event)) continue;
    const int64_t rank = lanes.of(event).rank;
    size_t& place = places[{event.step, rank}];
    if (place != 0) continue;
    steps.push_back(read_facts(event, rank));
    place = steps.size();
  }
  // A server's device has no steps: its work belongs to the worker that launched it or,
  // if the server is a process, whose request it handles.
  std::optional<Index> index;
  std::optional<ServerPhases> servers;
  const auto place_of_launch = [&](const Event& task) -> const size_t* {
    if (task.op == kNone) return nullptr;
    if (!index) index.emplace(trace);
    const Event* op = index->find(task.op);
    if (op == nullptr) return nullptr;
    const size_t* place = places.find({task.step, lanes.of(*op).rank});
    if (place != nullptr || task.is(categories::collective)) return place;
    if (!servers) servers.emplace(trace);
    const int64_t worker = servers->worker_of(*op);
    return worker == kNone ? nullptr : places.find({task.step, worker});
  };
  for (const Event& event : trace.events) {
    if (event.ph != 'X' || event.step == kNone) continue;
    const size_t* place = places.find({event.step, lanes.of(event).rank});
    if (place == nullptr && is_task(event)) place = place_of_launch(event);
    if (place == nullptr) continue;
    Step& step = steps[*place - 1];
    const bool counts = step.imported ? is_task(event) : !runs_ahead(event);
    if (counts) step.last_end = std::max(step.last_end, event.end());
    if (is_task(event)) step.tasks.push_back(&event);
    if (event.is(categories::phase) && event.name != names::step) {
      step.phases.push_back(&event);
    }
  }
  std::map<int64_t, bool> started;  // by rank
  for (Step& step : steps) {
    if (!step.imported || std::exchange(started[step.rank], true)) continue;
    step.begin = end_before(step, trace, lanes);
  }
  line_up(steps);
  return steps;
}

std::vector<Step> find_steps(const Trace& trace) {
  return find_steps(trace, Lanes(trace));
}

void mark_warm_up(std::vector<Step>& steps) {
  Step* first = nullptr;
  std::vector<int64_t> others;
  for (Step& step : steps) {
    if (!step.train || step.interrupted || step.own_pace || step.imported) continue;
    if (first == nullptr) {
      first = &step;
    } else if (step.batch == first->batch) {
      others.push_back(step.length());
    }
  }
  if (others.empty()) return;
  const auto middle = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
  std::nth_element(others.begin(), middle, others.end());
  const auto usual = static_cast<double>(*middle);
  if (usual <= 0) return;
  first->warm_up = static_cast<double>(first->length()) > kColdStep * usual;
}

}  // namespace lockstep::tracer
