#include "tracer/emulate/construct/construct.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "tracer/emulate/construct/rank_program.h"
#include "tracer/emulate/construct/recorded_batches.h"
#include "tracer/emulate/construct/recorded_step.h"
#include "tracer/emulate/construct/repeat.h"
#include "tracer/emulate/hardware/hardware.h"

namespace lockstep::tracer {

Trace construct(const Trace& trace, const ConstructedProgram& program) {
  if (program.mode == "dp" || program.mode == "dp-criterion" ||
      program.mode == "dp-features") {
    return construct_dp(trace, program);
  }
  if (program.mode == "ddp") return construct_ddp(trace, program);
  if (program.mode == "model-parallel") return construct_pipeline(trace, program);
  if (program.mode == "ps") return construct_ps(trace, program);
  if (program.mode == "single") return construct_single(trace, program);
  throw std::invalid_argument(
      "a program of mode " + program.mode +
      " cannot be constructed; fix: choose single, dp, dp-criterion, "
      "dp-features, ddp, model-parallel or ps");
}

Trace construct_single(const Trace& trace, const ConstructedProgram& program) {
  if (program.devices != 1) {
    throw std::runtime_error(
        fmt::format("a program of mode single has one device, not {}; fix: choose "
                    "another mode, such as ddp",
                    program.devices));
  }
  const RecordedStep step =
      program.batch == 0 ? recorded_step(trace)
                         : step_with_batch(trace, program.further, program.batch);
  Trace result;
  result.lockstep = trace.lockstep;
  result.other = trace.other;
  result.texts = trace.texts;
  describe_devices(result.lockstep, 1, Ranks::one);
  result.lockstep[top::mode] = "single";
  result.lockstep[top::constructed] = constructed_facts(trace, program, step.batch);
  result.events = step.metadata;
  for (Event& event : RankProgram(step, program.hardware).finish())
    result.events.push_back(std::move(event));
  return result;
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
  if (program.hardware != nullptr) {
    facts["hardware"] = program.hardware->name;
    const auto& rates = program.hardware->memory.gb_per_s;
    if (program.mode.starts_with("d") && !rates.empty())
      facts["memory_gb_per_s"] = rates;
  }
  if (program.hardware != nullptr && program.mode.starts_with("dp")) {
    const HostCosts& host = program.hardware->host;
    facts["replicate"] = program.hardware->nccl ? "nccl broadcast" : "peer copies";
    if (!host.source.empty()) facts["host_source"] = host.source;
    facts["replica_us_per_parameter"] = host.replica_us_per_parameter;
    facts["replicate_us_per_parameter"] = host.replicate_us_per_parameter;
    facts["interpreter_lock"] = host.interpreter_lock;
  }
  if (program.further.empty()) return facts;
  facts["recorded_batches"] = Json::array({recorded_step(trace).batch});
  for (const Trace* other : program.further) {
    facts["recorded_batches"].push_back(recorded_step(*other).batch);
  }
  return facts;
}

namespace {

/// Returns how fast inserted kernels move memory, as a part of a sentence.
std::string memory_text(const Json& facts) {
  std::string text = "as fast as the step's own kernels";
  if (!facts.contains("memory_gb_per_s")) return text;
  std::vector<std::string> known;
  for (const auto& [kernel, rate] : facts["memory_gb_per_s"].items()) {
    known.push_back(fmt::format("{} {:.4g} GB/s", kernel, rate.get<double>()));
  }
  return text + fmt::format(", except for the rates of {}: {}",
                            string_arg(facts, "hardware"), fmt::join(known, ", "));
}

std::string between_batches(const Json& facts) {
  if (!facts.contains("recorded_batches")) return "";
  return fmt::format(
      "; batches of {} were recorded: the times of a batch between two of them lie on "
      "a line between theirs",
      fmt::join(facts["recorded_batches"].get<std::vector<int64_t>>(), ", "));
}

/// Returns how replicas are made, as parts of a sentence.
std::string replicas_text(const Json& facts) {
  const std::string broadcast =
      string_arg(facts, "replicate") == "nccl broadcast"
          ? "parameters are broadcast and gradients reduced as by NCCL, from each "
            "device to the next in up to 8 pieces; "
          : "";
  const std::string turns =
      facts.value("interpreter_lock", false)
          ? "; the replicas' threads take turns, so that each has its share of the "
            "host's pace"
          : "";
  const double each = number_arg(facts, "replica_us_per_parameter"),
               once = number_arg(facts, "replicate_us_per_parameter");
  if (each == 0 && once == 0) {
    return broadcast +
           "starting threads and making the replicas' modules takes the host no time" +
           turns;
  }
  return broadcast +
         fmt::format(
             "making the replicas' modules takes the host {:g} µs per parameter and "
             "further replica{} ({}), and starting threads no time",
             each, once == 0 ? "" : fmt::format(" and {:g} µs per parameter", once),
             string_arg(facts, "host_source")) +
         turns;
}

std::string shared_batch(int devices, int64_t batch, const std::string& mode) {
  if (devices == 1) {
    return fmt::format("one device repeats it with a batch of {}", batch);
  }
  if (mode == "dp-features") {
    return fmt::format(
        "{} devices share a batch of {}, each replica of `features` repeats the "
        "forward "
        "and backward pass of a step with its chunk, started by a host thread of its "
        "own, and device 0 repeats the rest of a step with the whole batch",
        devices, batch);
  }
  if (mode == "dp-criterion") {
    return fmt::format(
        "{} devices share a batch of {}, and each replica repeats the step's forward "
        "pass, loss and backward pass, started by a host thread of its own",
        devices, batch);
  }
  return fmt::format(
      "{} devices share a batch of {}, each replica repeats the step's forward and "
      "backward pass, started by a host thread of its own, and the time in which "
      "device 0 computes the loss of the whole batch is in proportion to its bytes",
      devices, batch);
}

/// Returns what a pipeline's devices do, as a part of a sentence.
std::string stages_text(const Json& facts, int devices, int64_t batch) {
  return fmt::format(
      "{} devices have {} stages of the network, cut before {}, and a batch of {} "
      "passes through them in {} micro-batches, each of which repeats the step's "
      "forward and backward pass, in the order of {}; one host thread launches all of "
      "it and waits for no device before the step's end; the update of a device takes "
      "its share of the step's",
      devices, facts["split"].size() + 1,
      fmt::join(facts["split"].get<std::vector<std::string>>(), ", "), batch,
      facts.value("micro_batches", 1), facts.value("schedule", ""));
}

/// `1 rank repeats` it.
std::string ranks_repeat(int ranks) {
  return ranks == 1 ? "1 rank repeats" : fmt::format("each of {} ranks repeats", ranks);
}

std::string servers_text(int servers) {
  return servers == 1 ? "a parameter server"
                      : fmt::format("each of {} parameter servers", servers);
}

}  // namespace

std::string construction(const Trace& trace) {
  if (!trace.lockstep.contains(top::constructed)) return "";
  const Json& facts = trace.lockstep[top::constructed];
  const int devices = facts.value("devices", 0);
  const int64_t batch = facts.value("batch", int64_t{0});
  const std::string mode = facts.value("mode", "ddp");
  if (mode == "single") {
    return fmt::format(
        "constructed from the median training step of one device: it repeats it with a "
        "batch of {}{}",
        batch, between_batches(facts));
  }
  if (mode.starts_with("dp")) {
    return fmt::format(
        "constructed from the median training step of one device: {}; packing, adding "
        "and joining tensors moves memory {}; launching a kernel or a copy takes the "
        "host as long as the step's median launch; {}{}",
        shared_batch(devices, batch, mode), memory_text(facts), replicas_text(facts),
        between_batches(facts));
  }
  if (mode == "model-parallel") {
    return fmt::format(
        "constructed from the median training step of one device: {}; making tensors "
        "contiguous and adding gradients moves memory as fast as the step's own "
        "kernels; launching a kernel or a copy takes the host as long as the step's "
        "median launch{}",
        stages_text(facts, devices, batch), between_batches(facts));
  }
  if (mode == "ps") {
    return fmt::format(
        "constructed from the median training step of one device: {} it with a batch "
        "of "
        "{}, between a pull from and a push to {}; servers wait for all workers, and "
        "the "
        "one that pushes last launches the update, which takes a server its share of "
        "the step's; pulls from a server follow one another; copying and adding "
        "tensors moves memory as fast as the step's own kernels, and launching one "
        "takes the host as long as the step's median launch{}",
        ranks_repeat(devices), batch / std::max(1, devices),
        servers_text(facts.value("servers", 1)), between_batches(facts));
  }
  return fmt::format(
      "constructed from the median training step of one device: {} it with a batch of "
      "{}; bucket copies move memory {}; launching one takes the host as long as the "
      "step's median launch{}",
      ranks_repeat(devices), batch / std::max(1, devices), memory_text(facts),
      between_batches(facts));
}

}  // namespace lockstep::tracer
