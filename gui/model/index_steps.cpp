// Finds the training steps of a trace.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "gui/model/details.h"
#include "gui/model/raw_model.h"
#include "tracer/format/lanes.h"

namespace lockstep::gui {

namespace {

/// PyTorch's profiler records steps only as long events: host events that start during
/// such an event belong to the step, as does everything they cause on devices.
void take_profiler_steps(RawModel& raw) {
  std::vector<Event>& events = raw.model.events;
  for (const RawStep& step : raw.profiler_steps) {
    events[step.event].kind = static_cast<uint8_t>(Kind::step);
  }
  raw.steps = std::move(raw.profiler_steps);
  const auto step_around = [&](int64_t ts) {
    const auto after = std::upper_bound(
        raw.steps.begin(), raw.steps.end(), ts,
        [&](int64_t t, const RawStep& step) { return t < events[step.event].ts; });
    if (after == raw.steps.begin()) return kNoStep;
    const Event& step = events[(after - 1)->event];
    return ts < step.end() ? static_cast<uint32_t>(step.step) : kNoStep;
  };
  for (Event& event : events) {
    if (event.step != kNoStep) continue;
    const uint32_t inherited =
        event.parent == kNoEvent ? kNoStep : events[event.parent].step;
    event.step = inherited != kNoStep ? inherited : step_around(event.ts);
  }
}

/// Returns when the last event of each step ends. Excludes what a loader's worker
/// prepares ahead of the steps (see tracer/format/lanes.h).
std::unordered_map<uint32_t, int64_t> last_ends(const Model& model) {
  const uint32_t fetch = model.strings.find(tracer::kFetch);
  std::unordered_map<uint32_t, int64_t> ends;
  uint32_t number = kNoStep;
  int64_t* end = nullptr;  // end of step `number`
  for (const Event& event : model.events) {
    if (event.step == kNoStep || event.name == fetch) continue;
    if (event.step != number) end = &ends[number = event.step];
    *end = std::max(*end, event.end());
  }
  return ends;
}

/// Sets each rank's event for each step, if there are several ranks. A step begins with
/// the earliest of its events.
void take_ranks(RawModel& raw) {
  Model& model = raw.model;
  const auto ranks = static_cast<size_t>(model.ranks());
  if (ranks < 2) return;
  std::unordered_map<uint32_t, Step*> by_number;
  for (Step& step : model.steps) {
    step.by_rank.assign(ranks, kNoEvent);
    by_number.emplace(step.number, &step);
  }
  for (const RawStep& raw_step : raw.steps) {
    const Event& event = model.events[raw_step.event];
    const auto step = by_number.find(event.step);
    if (step == by_number.end()) continue;
    uint32_t& own = step->second->by_rank[model.lanes[event.lane].rank];
    if (own == kNoEvent) own = raw_step.event;
    step->second->begin = std::min<int64_t>(step->second->begin, event.ts);
  }
}

/// A step of one rank, as tracer/analysis/steps.h defines it for a profiler's file.
struct Lined {
  uint32_t number;
  int64_t begin, end;
  int64_t first_task = INT64_MAX;
};

/// Makes each step begin where the previous one ends. REQUIRES: the steps are sorted.
void line_up(std::vector<Lined>& steps) {
  for (size_t i = 1; i < steps.size(); ++i) {
    steps[i].begin = std::max(steps[i].begin, steps[i - 1].end);
    steps[i].end = std::max(steps[i].end, steps[i].begin);
  }
}

/// The steps of each rank, lined up.
class LinedRanks {
 public:
  explicit LinedRanks(const RawModel& raw) : model_(raw.model) {
    for (const RawStep& step : raw.steps) add(model_.events[step.event]);
    for (const Event& event : model_.events) take_task(event);
    for (const Event& event : model_.events) take_earlier(event);
    for (auto& [rank, steps] : ranks_) {
      steps[0].end = std::max(steps[0].end, steps[0].begin);
      line_up(steps);
    }
  }

  /// Joins the ranks' steps by number: from the first begin to the last end.
  std::vector<Lined> joined() const {
    std::vector<Lined> all;
    std::unordered_map<uint32_t, size_t> places;
    for (const auto& [rank, steps] : ranks_) {
      for (const Lined& step : steps) {
        const auto [place, is_new] = places.emplace(step.number, all.size());
        if (is_new) {
          all.push_back(step);
          continue;
        }
        Lined& sum = all[place->second];
        sum.begin = std::min(sum.begin, step.begin);
        sum.end = std::max(sum.end, step.end);
      }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Lined& a, const Lined& b) { return a.begin < b.begin; });
    line_up(all);
    return all;
  }

 private:
  int rank_of(const Event& event) const { return model_.lanes[event.lane].rank; }
  static uint64_t key(int rank, uint32_t number) {
    return static_cast<uint64_t>(rank) << 32 | number;
  }

  void add(const Event& event) {
    if (event.step == kNoStep) return;
    const auto number = static_cast<uint32_t>(event.step);
    std::vector<Lined>& steps = ranks_[rank_of(event)];
    if (!places_.emplace(key(rank_of(event), number), steps.size()).second) return;
    steps.push_back({number, event.ts, event.end()});
  }

  void take_task(const Event& event) {
    if (!event.is_task()) return;
    const auto place =
        places_.find(key(rank_of(event), static_cast<uint32_t>(event.step)));
    if (place == places_.end()) return;
    Lined& step = ranks_[rank_of(event)][place->second];
    step.end = std::max<int64_t>(step.end, event.end());
    step.first_task = std::min<int64_t>(step.first_task, event.ts);
  }

  /// What was launched before the first step delays it.
  void take_earlier(const Event& event) {
    if (!event.is_task() || event.step != kNoStep) return;
    const auto rank = ranks_.find(rank_of(event));
    if (rank == ranks_.end()) return;
    Lined& first = rank->second[0];
    if (first.first_task == INT64_MAX || event.end() >= first.first_task) return;
    first.begin = std::max<int64_t>(first.begin, event.end());
  }

  const Model& model_;
  std::map<int, std::vector<Lined>> ranks_;
  std::unordered_map<uint64_t, size_t> places_;  ///< by rank and number
};

void measure_profiler_steps(RawModel& raw) {
  std::unordered_map<uint32_t, int64_t> lengths;
  for (const Lined& step : LinedRanks(raw).joined()) {
    lengths[step.number] = step.end - step.begin;
  }
  for (Step& step : raw.model.steps) {
    const auto length = lengths.find(step.number);
    if (length != lengths.end()) step.length = length->second;
  }
}

}  // namespace

void index_steps(RawModel& raw) {
  Model& model = raw.model;
  const bool imported = meta_of(model).contains(top::imported);
  const bool profiler = raw.steps.empty() && !raw.profiler_steps.empty();
  if (raw.steps.empty()) take_profiler_steps(raw);
  const auto ends = last_ends(model);
  int rank = INT32_MAX;
  for (const RawStep& step : raw.steps) {
    rank = std::min(rank, model.lanes[model.events[step.event].lane].rank);
  }
  for (const RawStep& raw_step : raw.steps) {
    const Event& event = model.events[raw_step.event];
    if (model.lanes[event.lane].rank != rank) continue;
    const bool numbered = event.step != kNoStep;
    if (numbered && !model.steps.empty() && model.steps.back().number == event.step) {
      continue;
    }
    Step step;
    step.event = raw_step.event;
    step.number = numbered ? event.step : static_cast<uint32_t>(model.steps.size());
    step.begin = event.ts;
    step.end = numbered ? std::max(event.end(), ends.at(event.step)) : event.end();
    step.train = raw_step.train;
    model.steps.push_back(step);
  }
  take_ranks(raw);
  if (model.steps.empty()) {
    Step all;
    all.end = model.length;
    model.steps.push_back(all);
  }
  for (Step& step : model.steps) step.length = step.end - step.begin;
  if (imported || profiler) measure_profiler_steps(raw);
}

}  // namespace lockstep::gui
