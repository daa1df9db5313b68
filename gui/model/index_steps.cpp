// Finds the training steps of a trace.
#include <algorithm>
#include <unordered_map>

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

/// Sets each rank's event of each step, if there are several ranks; a step begins with
/// the earliest of them.
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

}  // namespace

void index_steps(RawModel& raw) {
  Model& model = raw.model;
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
}

}  // namespace lockstep::gui
