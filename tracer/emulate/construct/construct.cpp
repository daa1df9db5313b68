#include "tracer/emulate/construct/construct.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "tracer/emulate/construct/rank_program.h"
#include "tracer/emulate/construct/recorded_step.h"
#include "tracer/emulate/construct/repeat.h"

namespace lockstep::tracer {

Trace construct(const Trace& trace, const ConstructedProgram& program) {
  if (program.mode == "dp") return construct_dp(trace, program);
  if (program.mode == "ddp") return construct_ddp(trace, program);
  throw std::invalid_argument("a program of mode " + program.mode +
                              " cannot be constructed; fix: choose dp or ddp");
}

Trace construct_single(const Trace& trace) {
  const RecordedStep step = recorded_step(trace);
  return repeat_on_ranks(trace, step, RankProgram(step).finish(), {}, 1);
}

void require_device_count(int devices) {
  if (devices >= 1 && devices <= kMostDevices) return;
  throw std::runtime_error(
      fmt::format("a program of {} devices cannot be constructed; fix: choose 1 to {}",
                  devices, kMostDevices));
}

Json constructed_facts(const Trace& trace, const ConstructedProgram& program,
                       int64_t batch) {
  Json facts{{"from", "single"},
             {"mode", program.mode},
             {"devices", program.devices},
             {"batch", batch}};
  if (program.further.empty()) return facts;
  facts["recorded_batches"] = Json::array({recorded_step(trace).batch});
  for (const Trace* other : program.further) {
    facts["recorded_batches"].push_back(recorded_step(*other).batch);
  }
  return facts;
}

namespace {

std::string between_batches(const Json& facts) {
  if (!facts.contains("recorded_batches")) return "";
  return fmt::format(
      "; recorded were batches of {}: times of a batch between two of them lie on a "
      "line "
      "between theirs",
      fmt::join(facts["recorded_batches"].get<std::vector<int64_t>>(), ", "));
}

}  // namespace

std::string construction(const Trace& trace) {
  if (!trace.lockstep.contains(top::constructed)) return "";
  const Json& facts = trace.lockstep[top::constructed];
  const int devices = facts.value("devices", 0);
  const int64_t batch = facts.value("batch", int64_t{0});
  if (facts.value("mode", "ddp") == "dp") {
    return fmt::format(
        "constructed from the median training step of one device: {} devices share a "
        "batch of {}, each replica repeats the step's forward and backward pass, "
        "started by a host thread of its own, and device 0 computes the loss of the "
        "whole batch in time in proportion to its bytes; packing, adding and joining "
        "tensors moves memory as fast as the step's own kernels; launching a kernel or "
        "a copy takes the host as long as its median launch; starting threads and "
        "making the replicas' modules takes it no time{}",
        devices, batch, between_batches(facts));
  }
  return fmt::format(
      "constructed from the median training step of one device: {} ranks each repeat "
      "it with a batch of {}; bucket copies move memory as fast as the step's own "
      "kernels, and launching one takes the host as long as its median launch{}",
      devices, batch / std::max(1, devices), between_batches(facts));
}

}  // namespace lockstep::tracer
