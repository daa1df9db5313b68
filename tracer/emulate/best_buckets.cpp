#include "tracer/emulate/best_buckets.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "engine/plan/bucket_cuts.h"
#include "tracer/analysis/steps.h"
#include "tracer/emulate/construct/recorded_step.h"
#include "tracer/format/facts.h"
#include "tracer/format/index.h"

namespace lockstep::tracer {
namespace {

/// Returns when rank 0 has copied each gradient to its bucket, in the order of the
/// copies: the operations that launch them were inserted into the recorded step.
std::vector<int64_t> times_of_copies(const Trace& program) {
  const Index index(program);
  std::vector<int64_t> times;
  for (const Event& event : program.events) {
    if (!event.is(categories::kernel) || int_arg(event.args, keys::rank) != 0) continue;
    const Event* op = index.find(event.op);
    if (op == nullptr || !op->args.contains(keys::param)) continue;
    times.push_back(event.end());
  }
  std::sort(times.begin(), times.end());
  return times;
}

std::vector<plan::TimedGradient> timed_gradients(const RecordedStep& step,
                                                 const Trace& emulated) {
  const std::vector<int64_t> times = times_of_copies(emulated);
  std::vector<plan::TimedGradient> gradients;
  for (size_t i = 0; i < step.ready.size() && i < times.size(); ++i) {
    gradients.push_back({step.parameters[step.ready[i].parameter].bytes,
                         static_cast<double>(times[i])});
  }
  return gradients;
}

/// Returns the ring's cost, in ns.
plan::AllReduceCost ring_cost(int devices, const Link& link) {
  const double steps = 2.0 * (devices - 1);
  return {steps * link.latency_us * 1e3, steps / devices / link.gb_per_s};
}

BucketChoice choice_of(const Trace& emulated) {
  BucketChoice choice;
  choice.step = join_ranks(find_steps(emulated)).at(0).length();
  int64_t end = 0;
  for (const Event& event : emulated.events) {
    if (!event.is(categories::collective) || int_arg(event.args, keys::rank) != 0)
      continue;
    const CollectiveFacts facts = collective_facts(event);
    if (facts.why != reasons::all_reduce) continue;
    choice.bytes.push_back(facts.bytes);
    end = std::max(end, event.end());
  }
  choice.after_backward = end - times_of_copies(emulated).back();
  return choice;
}

std::string sizes_text(const std::vector<int64_t>& bytes) {
  std::string text;
  for (const int64_t size : bytes) {
    text += (text.empty() ? "" : " · ") + human_bytes(size);
  }
  return text;
}

std::string row(const std::string& name, const BucketChoice& choice) {
  return fmt::format("  {:<14}{:>8}{:>18}{:>12}\n", name, choice.bytes.size(),
                     human_time(choice.after_backward), human_time(choice.step));
}

}  // namespace

BucketChoices best_buckets(const Trace& trace, const ConstructedProgram& program,
                           const EmulateOptions& options) {
  const Trace given = emulate(construct_ddp(trace, program), options);
  ConstructedProgram best = program;
  best.buckets = plan::best_buckets(timed_gradients(recorded_step(trace), given),
                                    ring_cost(program.devices, options.link));
  return {choice_of(given), choice_of(emulate(construct_ddp(trace, best), options))};
}

std::string best_buckets_text(const BucketChoices& choices,
                              const ConstructedProgram& program) {
  const std::string cap = fmt::format("{} MiB", program.bucket_cap >> 20);
  std::string text = fmt::format("  {:<14}{:>8}{:>18}{:>12}\n", "", "buckets",
                                 "after backward", "one step") +
                     row(cap, choices.given) + row("best", choices.best) + "\n";
  text += fmt::format("  {}: {}\n  best: {}\n\n", cap, sizes_text(choices.given.bytes),
                      sizes_text(choices.best.bytes));
  const int64_t cost = choices.cost();
  if (cost <= 0) {
    return text + "These cuts do not make the step shorter.\n";
  }
  return text + fmt::format("Buckets of {} cost {} per step, {:.1f} %.\n", cap,
                            human_time(cost),
                            100.0 * static_cast<double>(cost) /
                                static_cast<double>(choices.given.step));
}

Json best_buckets_json(const BucketChoices& choices) {
  const auto json_of = [](const BucketChoice& choice) {
    return Json{
        {"buckets", choice.bytes},
        {"step_us", static_cast<double>(choice.step) / 1e3},
        {"after_backward_us", static_cast<double>(choice.after_backward) / 1e3}};
  };
  return {{"given", json_of(choices.given)}, {"best", json_of(choices.best)}};
}

}  // namespace lockstep::tracer
