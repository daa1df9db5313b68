// The laws of local SGD: which weights are averaged, and after which steps.
// P = bytes of the parameters.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tracer/analysis/judge.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

/// The collectives of one rank's step that exchange weights or gradients.
struct Exchanged {
  int64_t averages = 0, averaged = 0;  ///< number and bytes
  int64_t gradients = 0;               ///< bytes
  bool in_phase = true;                ///< every average is in a phase of that name
};

LaneMap<Exchanged> exchanged_by_rank(const TraceUnderTest& test) {
  LaneMap<Exchanged> steps;
  for (const Event& event : test.trace.events) {
    if (event.step == kNone || !event.is(categories::collective)) continue;
    const CollectiveFacts facts = collective_facts(event);
    Exchanged& step = steps[{event.step, test.lanes.of(event).rank}];
    if (facts.why == reasons::average) {
      ++step.averages;
      step.averaged = add_within_range(step.averaged, facts.bytes);
      step.in_phase &= facts.phase == phases::average;
    } else if (facts.why == reasons::all_reduce) {
      step.gradients = add_within_range(step.gradients, facts.bytes);
    }
  }
  return steps;
}

/// PeriodicModelAverager's rule, for the last of `made` steps.
bool average_was_due(int64_t made, int64_t period, int64_t warmup) {
  const int64_t since = made - 1 - warmup;
  return since >= 0 && since % period == 0;
}

/// How many optimizer steps a rank had made after a step of the run.
struct Count {
  int64_t step, made;
};

}  // namespace

void judge_averages(TraceUnderTest& test) {
  if (string_arg(test.trace.lockstep, top::mode) != "local-sgd") return;
  Law& facts = test.law("local-steps", "each optimizer step is counted once");
  Law& due = test.law("average-due", "weights are averaged after the steps due: P");
  Law& alone = test.law("no-gradients-reduced", "gradients stay on their ranks");
  const int64_t parameter_bytes =
      int_arg(object_arg(test.trace.lockstep, top::model), top::parameter_bytes);
  const LaneMap<Exchanged> steps = exchanged_by_rank(test);
  std::map<int64_t, Count> counts;  // of each rank
  for (const Step& step : test.steps) {
    if (step.interrupted) continue;
    const Args& args = step.event->args;
    const int64_t id = step.event->id;
    const int64_t period = int_arg(args, keys::local_steps),
                  warmup = int_arg(args, keys::warmup_steps, kNone),
                  made = int_arg(args, keys::optimizer_steps, kNone);
    const bool updates = step.has_phase(phases::optimizer);
    const auto last = counts.find(step.rank);
    const bool follows = last != counts.end() && last->second.step + 1 == step.number;
    const int64_t expected =
        follows ? last->second.made + updates : std::max<int64_t>(made, updates);
    const bool counted = period >= 1 && warmup >= 0 && made == expected;
    facts.expect(counted, id, [&] {
      return fmt::format(
          "step {}, rank {}: `local_steps` {}, `warmup_steps` {}, `optimizer_steps` "
          "{}, expected {}",
          step.number, step.rank, period, warmup, made, expected);
    });
    if (!counted) continue;
    counts[step.rank] = {step.number, made};
    const Exchanged* found = steps.find({step.number, step.rank});
    const Exchanged seen = found == nullptr ? Exchanged{} : *found;
    const bool averages = updates && average_was_due(made, period, warmup);
    const int64_t bytes = averages ? parameter_bytes : 0;
    due.expect(
        seen.averages == averages && seen.averaged == bytes && seen.in_phase, id, [&] {
          return fmt::format(
              "step {}, rank {}: {} average{} of {} B after {} optimizer steps "
              "(period {}, warm-up {}), expected {} B",
              step.number, step.rank, seen.averages, seen.averages == 1 ? "" : "s",
              seen.averaged, made, period, warmup, bytes);
        });
    alone.expect(seen.gradients == 0, id, [&] {
      return fmt::format("step {}, rank {}: {} B of gradients reduced, expected none",
                         step.number, step.rank, seen.gradients);
    });
  }
}

}  // namespace lockstep::tracer
