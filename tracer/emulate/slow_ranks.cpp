#include "tracer/emulate/slow_ranks.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "tracer/format/facts.h"
#include "tracer/format/keys.h"
#include "tracer/format/lanes.h"
#include "tracer/format/times.h"
#include "tracer/record/slow_rank.h"

namespace lockstep::tracer {

namespace {

using DurationOf = std::function<int64_t(const Event& task)>;

bool is_emulated_work(const Event& event) {
  return event.ph == 'X' && event.is(categories::kernel) &&
         event.name == names::emulated_work;
}

/// Returns the factor; 0 if the trace does not say it.
double slowness_of(const Event& work) {
  const double factor = number_arg(work.args, keys::slowness);
  return std::isfinite(factor) && factor >= 1 ? factor : 0;
}

/// Returns the duration of each kernel of emulated work, by its id.
std::unordered_map<int64_t, int64_t> times_of_work(const Trace& trace,
                                                   const DurationOf& duration) {
  std::unordered_map<int64_t, int64_t> times;
  std::map<std::pair<LaneKey, int64_t>, int64_t> computed;  // by stream and step
  for (const Event& event : trace.events) {
    if (event.ph != 'X' || !computes(event)) continue;
    int64_t& sum = computed[{lane_of(event), event.step}];
    if (!is_emulated_work(event)) {
      sum = add_within_range(sum, duration(event));
      continue;
    }
    const double factor = slowness_of(event);
    const double time = (factor - 1) * static_cast<double>(sum);
    times[event.id] = factor > 0 ? std::llround(std::min<double>(time, kMaxTime))
                                 : int64_t{event.dur};
  }
  return times;
}

}  // namespace

Weights with_slow_ranks(const Trace& trace, Weights weights) {
  const auto times = std::make_shared<std::unordered_map<int64_t, int64_t>>(
      times_of_work(trace, weights.duration));
  if (times->empty()) return weights;
  weights.duration = [times, others = weights.duration](const Event& task) {
    if (!is_emulated_work(task)) return others(task);
    const auto found = times->find(task.id);
    return found == times->end() ? others(task) : found->second;
  };
  return weights;
}

std::string slow_ranks_assumed(const Trace& trace) {
  bool known = false, unknown = false;
  for (const Event& event : trace.events) {
    if (is_emulated_work(event)) (slowness_of(event) > 0 ? known : unknown) = true;
  }
  if (unknown) return "the extra work of --slow-rank takes as long as recorded";
  if (!known) return "";
  return "the extra work of --slow-rank NUMBER:FACTORx takes (FACTOR - 1) times as "
         "long as the rank's other kernels of the step";
}

}  // namespace lockstep::tracer
