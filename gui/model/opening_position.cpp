// Where the viewer opens a trace.
#include <algorithm>
#include <numeric>
#include <tuple>

#include "gui/model/details.h"
#include "gui/model/position.h"
#include "tracer/analysis/steps.h"

namespace lockstep::gui {

namespace {

constexpr size_t kMostTried = 64;  ///< steps

/// Returns the steps in the order in which they are worth opening at: training before
/// evaluation, then those with the largest batch, then those that are no warm-up.
std::vector<size_t> preferred_steps(const Model& model) {
  std::vector<tracer::Step> steps;
  for (const Step& own : model.steps) {
    tracer::Step& step = steps.emplace_back();
    step.train = own.train;
    step.begin = own.begin;
    step.last_end = own.begin + own.length;
    if (own.event == kNoEvent) continue;
    const tracer::Json args = args_of(model, model.events[own.event]);
    step.batch = int_arg(args, keys::batch, 0);
    step.interrupted = bool_arg(args, keys::interrupted);
  }
  tracer::mark_warm_up(steps);
  std::vector<size_t> order(steps.size());
  std::iota(order.begin(), order.end(), 0);
  const auto rank = [&](size_t i) {
    const tracer::Step& step = steps[i];
    return std::tuple(!step.train, step.interrupted, -step.batch, step.warm_up);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return rank(a) < rank(b); });
  return order;
}

/// Returns the first event of a step's program for which `is_wanted` returns true, or
/// kNoEvent.
template <typename Wanted>
uint32_t first_in(const Model& model, const Step& step, Wanted is_wanted) {
  const bool whole = step.event == kNoEvent;
  const uint32_t first = whole ? 0 : model.events[step.event].order + 1;
  const auto places = static_cast<uint32_t>(model.program.size());
  const uint32_t last = whole ? places : model.events[step.event].last;
  for (uint32_t place = first; place < last; ++place) {
    if (is_wanted(model.events[model.program[place]])) return model.program[place];
  }
  return kNoEvent;
}

/// Returns the first phase, range or call of a step on the host that is named after
/// `forward`, or kNoEvent. Operators such as `aten::nll_loss_forward` are parts of it.
uint32_t forward_of(const Model& model, const Step& step) {
  return first_in(model, step, [&](const Event& event) {
    const Kind kind = event.what();
    return (kind == Kind::phase || kind == Kind::call || kind == Kind::other) &&
           model.lanes[event.lane].is_host() &&
           model.name_of(event).find(phases::forward) != std::string::npos;
  });
}

/// Returns the first kernel, copy or collective of a step that takes time, if possible
/// one whose launch is known, or kNoEvent.
uint32_t first_task_of(const Model& model, const Step& step) {
  uint32_t first = kNoEvent;
  const auto from =
      std::lower_bound(model.events.begin(), model.events.end(), step.begin,
                       [](const Event& e, int64_t t) { return e.ts < t; });
  for (auto event = from; event != model.events.end() && event->ts < step.end;
       ++event) {
    if (!event->is_task() || event->dur == 0) continue;
    const auto index = static_cast<uint32_t>(event - model.events.begin());
    if (event->parent != kNoEvent) return index;
    if (first == kNoEvent) first = index;
  }
  return first;
}

uint32_t first_caller_of(const Model& model, const Step& step) {
  return first_in(model, step,
                  [](const Event& event) { return event.last > event.order + 1; });
}

}  // namespace

Position opening_position(const Model& model) {
  if (model.failed != kNoEvent) return at_event(model, model.failed);
  std::vector<size_t> order = preferred_steps(model);
  order.resize(std::min(order.size(), kMostTried));
  for (const size_t step : order) {
    for (const auto find : {forward_of, first_task_of, first_caller_of}) {
      const uint32_t event = find(model, model.steps[step]);
      if (event != kNoEvent) return at_event(model, event);
    }
  }
  const uint32_t step = model.steps[order.front()].event;
  return step == kNoEvent ? Position{} : at_event(model, step);
}

}  // namespace lockstep::gui
