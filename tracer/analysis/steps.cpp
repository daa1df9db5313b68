#include "tracer/analysis/steps.h"

#include <algorithm>
#include <map>

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
  step.last_end = event.end();
  return step;
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
    all.last_end = std::max(all.last_end, step.last_end);
    all.rank_lengths.merge(step.rank_lengths);
  }
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
  for (const Event& event : trace.events) {
    if (event.ph != 'X' || event.step == kNone) continue;
    const size_t* place = places.find({event.step, lanes.of(event).rank});
    if (place == nullptr) continue;
    Step& step = steps[*place - 1];
    if (!runs_ahead(event)) step.last_end = std::max(step.last_end, event.end());
    if (is_task(event)) step.tasks.push_back(&event);
    if (event.is(categories::phase) && event.name != names::step) {
      step.phases.push_back(&event);
    }
  }
  return steps;
}

std::vector<Step> find_steps(const Trace& trace) {
  return find_steps(trace, Lanes(trace));
}

}  // namespace lockstep::tracer
