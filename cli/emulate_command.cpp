// `lockstep emulate`: replays a recorded program on devices with dedicated hardware.
#include "tracer/emulate/emulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/emulate_flags.h"
#include "cli/flags.h"
#include "cli/hardware_profiles.h"
#include "cli/scoreboard.h"
#include "run/auto_split.h"
#include "run/outputs.h"
#include "tracer/analysis/steps.h"
#include "tracer/analysis/summary.h"
#include "tracer/emulate/against.h"
#include "tracer/emulate/batch_for.h"
#include "tracer/emulate/best_buckets.h"
#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/construct/recorded_batches.h"
#include "tracer/emulate/knees.h"
#include "tracer/emulate/sweep.h"
#include "tracer/emulate/symmetric/symmetric_ddp.h"
#include "tracer/kineto/kineto.h"

namespace lockstep::cli {
namespace {

tracer::ConstructedProgram constructed_program(const EmulateCommand& c) {
  tracer::ConstructedProgram program = c.program;
  program.bucket_cap = c.bucket_cap_mb << 20;
  program.first_bucket = c.first_bucket_mb << 20;
  program.mode = c.mode;
  if (c.mode != kModelParallel) {
    refuse_pipeline_flags(c.pipeline, c.mode);
    return program;
  }
  PipelineFlags flags = c.pipeline;
  flags.batch = c.program.batch;
  program.pipeline = pipeline_of_flags(flags);
  program.devices = static_cast<int>(program.pipeline.schedule.size());
  return program;
}

/// Reads a trace that is to be emulated. Throws std::runtime_error if another program
/// wrote it.
tracer::Trace open_recorded(const std::string& file) {
  tracer::Trace trace = tracer::open_trace(file);
  if (!trace.lockstep.empty()) return trace;
  throw std::runtime_error(
      file +
      ": lockstep did not record it, and it does not say what kernels waited for; fix: "
      "emulate a trace that lockstep recorded");
}

/// --split auto: the times of the layers are in the trace.
void choose_split(EmulateCommand& c) {
  PipelineFlags flags = c.pipeline;
  flags.batch = c.program.batch;
  flags.devices = c.program.devices;
  const std::string report =
      choose_recorded_split(flags, open_recorded(c.file), c.program.further);
  c.pipeline.config.split = flags.config.split;
  std::fputs(report.c_str(), c.json ? stderr : stdout);
}

/// The recordings that are named after the first one: other batches.
std::vector<tracer::Trace> open_further(const EmulateCommand& c) {
  if (c.mode.empty() && !c.further.empty()) {
    throw UsageError("several traces: only one can be re-timed; fix: pass --mode");
  }
  std::vector<tracer::Trace> traces;
  for (const std::string& file : c.further) traces.push_back(open_recorded(file));
  return traces;
}

/// Returns the recorded program, or the one that --mode constructs from it.
tracer::Trace program_of(const EmulateCommand& c, const tracer::Trace& recorded) {
  if (c.mode.empty()) return recorded;
  return tracer::construct(recorded, constructed_program(c));
}

/// Only DDP has buckets.
void require_buckets(const EmulateCommand& c, const std::string& option) {
  if (c.mode == "ddp") return;
  throw UsageError(option + ": " + c.mode + " has no buckets; fix: pass --mode ddp");
}

/// Returns what the program does, and without what the one device does.
std::pair<std::string, std::string> in_words(const std::string& mode) {
  if (mode == kModelParallel) {
    return {"each micro-batch repeats the recorded step, stage by stage",
            ", without a pipeline"};
  }
  if (mode == kServers) {
    return {"each worker repeats the recorded step", ", without servers"};
  }
  if (mode == kSingle) return {"the device repeats the recorded step", ""};
  if (mode == "ddp") return {"each rank repeats the recorded step", ", without DDP"};
  return {"each replica repeats the recorded forward and backward pass",
          ", without DataParallel"};
}

/// The devices of a pipeline follow from its stages, and a single one stays one.
void require_other_devices(const EmulateCommand& c, const std::string& option) {
  if (c.mode == kSingle) {
    throw UsageError(option + ": --mode single has one device; fix: use --mode ddp");
  }
  if (c.mode != kModelParallel) return;
  throw UsageError(option +
                   ": a pipeline has as many devices as --split and --virtual-stages "
                   "say; fix: use --mode dp or ddp, or change --split");
}

/// Prints the points of a sweep, and what they say.
void print_sweep(const EmulateCommand& c, const std::vector<tracer::SweepAxis>& axes) {
  const tracer::Trace recorded = open_recorded(c.file);
  const auto points = tracer::sweep(recorded, axes, constructed_program(c), c.options);
  const std::string heading = tracer::string_arg(recorded.lockstep, tracer::top::arch) +
                              ", " + c.mode + ", emulated";
  const auto [repeated, without] = in_words(c.mode);
  std::fprintf(c.json ? stderr : stdout,
               "assumed: %s; %s\n"
               "speed-up: against the recorded step on one device%s\n\n",
               tracer::assumptions_from(recorded, c.options).c_str(), repeated.c_str(),
               without.c_str());
  if (c.json) {
    std::printf("%s\n", tracer::sweep_json(axes, points).dump(1).c_str());
    return write_sweep(axes, points, c.sweep_files, heading, true);
  }
  std::printf("%s", tracer::sweep_text(axes, points).c_str());
  if (!std::ranges::all_of(points, &tracer::SweepPoint::exact)) {
    std::printf(
        "\nOf more than %d devices, copies to the host do not wait for messages of "
        "all-reduce at their port.\n",
        tracer::kMostDevices);
  }
  const std::string knees = tracer::knees_text(tracer::speed_up_curves(axes, points));
  if (!knees.empty()) std::printf("\n%s", knees.c_str());
  write_sweep(axes, points, c.sweep_files, heading, false);
}

/// --sweep: prints a table of speed-ups.
int run_sweep(const EmulateCommand& c) {
  std::vector<tracer::SweepAxis> axes;
  for (const std::string& text : c.sweeps) {
    try {
      axes.push_back(tracer::parse_sweep(text));
      const std::string& option = axes.back().option;
      if (option == "bucket-cap-mb") require_buckets(c, "--sweep " + text);
      if (option == "devices") require_other_devices(c, "--sweep " + text);
    } catch (const std::invalid_argument& error) {
      throw UsageError(error.what());
    }
  }
  require_plottable(axes, c.sweep_files);
  if (!c.sweep_files.csv.empty()) run::require_other_file(c.file, c.sweep_files.csv);
  print_sweep(c, axes);
  return 0;
}

/// More ranks than have an event for each message: prints the time of a step.
int run_many(const EmulateCommand& c) {
  const std::string many = fmt::format("--devices {}", c.program.devices);
  const auto fits = [&](bool fits, const char* fix) {
    if (!fits) throw UsageError(fmt::format("{}: {}", many, fix));
  };
  const std::string most =
      fmt::format("a trace of more than {} devices is not made", tracer::kMostDevices);
  fits(c.mode == "ddp", "only the ranks of DDP can be so many; fix: pass --mode ddp");
  fits(c.out.empty(), (most + "; fix: leave out --out").c_str());
  fits(c.against.empty(), (most + "; fix: leave out --against").c_str());
  print_sweep(c, {{"devices", {static_cast<double>(c.program.devices)}}});
  return 0;
}

int64_t batch_of(const tracer::Trace& constructed) {
  return tracer::int_arg(constructed.lockstep[tracer::top::constructed], "batch");
}

/// Returns one device's step with the whole batch of the constructed program, or
/// nothing if that is neither recorded nor between two recorded batches.
std::optional<tracer::Summary> one_device(const EmulateCommand& c,
                                          const tracer::Trace& recorded,
                                          const tracer::Trace& emulated) {
  if (c.mode.empty() || c.mode == kSingle) return std::nullopt;
  tracer::ConstructedProgram program = c.program;
  program.mode = kSingle;
  program.devices = 1;
  program.batch = batch_of(emulated);
  if (!tracer::has_step_with_batch(recorded, program.further, program.batch)) {
    return std::nullopt;
  }
  try {
    return tracer::summarize(
        tracer::emulate(tracer::construct(recorded, program), c.options));
  } catch (const std::runtime_error&) {  // the recorded steps run different kernels
    return std::nullopt;
  }
}

/// Returns the summary beside one device with the same batch.
std::string constructed_result(const EmulateCommand& c, const tracer::Trace& recorded,
                               const tracer::Trace& emulated) {
  const tracer::Summary summary = tracer::summarize(emulated);
  std::optional<tracer::Summary> single = one_device(c, recorded, emulated);
  if (single) single->assumed = summary.assumed;  // apart from what is constructed
  if (c.json) {
    tracer::Json json = tracer::summary_json(summary);
    if (single) json["one_device"] = tracer::summary_json(*single);
    return json.dump(1);
  }
  const std::string text = tracer::summary_text(summary, single ? &*single : nullptr);
  if (single || c.mode.empty() || c.mode == kSingle) return text;
  return text + fmt::format(
                    "\nOne device's step with the same batch of {0} is unknown; "
                    "fix: record it (train --mode single -b {0}), and name its "
                    "trace, too\n",
                    batch_of(emulated));
}

/// Returns the summary, or with --against the comparison.
std::string result_of(const EmulateCommand& c, const tracer::Trace& recorded,
                      const tracer::Trace& emulated) {
  if (c.against.empty()) return constructed_result(c, recorded, emulated);
  const tracer::Against result =
      tracer::against(emulated, tracer::open_trace(c.against));
  if (c.json) return tracer::against_json(result).dump(1);
  const auto& emulation = emulated.lockstep[tracer::top::emulation];
  return "assumed: " + tracer::string_arg(emulation, "assumed") + "\n\n" +
         tracer::against_text(result, c.against);
}

/// --optimise-buckets: prints the program's buckets beside the best ones.
int run_best_buckets(const EmulateCommand& c) {
  require_buckets(c, "--optimise-buckets");
  const tracer::ConstructedProgram program = constructed_program(c);
  const tracer::Trace recorded = open_recorded(c.file);
  const tracer::BucketChoices choices =
      tracer::best_buckets(recorded, program, c.options);
  if (c.json) {
    std::printf("%s\n", tracer::best_buckets_json(choices).dump(1).c_str());
    return 0;
  }
  std::printf("assumed: %s; each of %d ranks repeats the recorded step\n\n%s",
              tracer::assumptions_from(recorded, c.options).c_str(), program.devices,
              tracer::best_buckets_text(choices, program).c_str());
  return 0;
}

/// --batch-for: prints the smallest batch that is so much faster than one device.
int run_batch_for(const EmulateCommand& c) {
  require_other_devices(c, "--batch-for");
  double goal = 0;
  try {
    goal = tracer::parse_gain(c.batch_for);
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
  const tracer::Trace recorded = open_recorded(c.file);
  const tracer::BatchFor found =
      tracer::batch_for(recorded, goal, constructed_program(c), c.options);
  if (c.json) {
    std::printf("%s\n", tracer::batch_for_json(found).dump(1).c_str());
    return 0;
  }
  std::printf(
      "assumed: %s\ngain: images/s, against one device with the batch of %s\n\n%s",
      tracer::assumptions_from(recorded, c.options).c_str(), c.file.c_str(),
      tracer::batch_for_text(found).c_str());
  return 0;
}

/// --sweep link-…: a machine's links are given.
void require_no_link(const EmulateCommand& c) {
  for (const std::string& text : c.sweeps) {
    if (!text.starts_with("link-")) continue;
    throw UsageError("--sweep " + text +
                     ": --hardware has links of its own; fix: leave one of them out");
  }
}

/// --calibrate: runs steps of its own.
int run_calibrate(const EmulateCommand& c) {
  if (!c.calibrate.out.ends_with(".json")) {
    throw UsageError("--calibrate " + c.calibrate.out +
                     ": --hardware takes files that end in .json; fix: name it so");
  }
  if (!c.file.empty()) {
    throw UsageError(
        "--calibrate runs steps of its own; fix: leave out TRACE, and pass the profile "
        "to --hardware later");
  }
  std::printf("%s", run::calibrate_machine(c.calibrate).c_str());
  return 0;
}

/// --scoreboard: its rows are of other machines.
void require_only_scoreboard(const EmulateCommand& c) {
  if (c.file.empty() && c.mode.empty() && c.hardware.empty() && c.out.empty() &&
      c.against.empty()) {
    return;
  }
  throw UsageError(
      "--scoreboard reads no trace; fix: leave out TRACE, --mode, --hardware, --out "
      "and "
      "--against");
}

int run(EmulateCommand c) {
  if (c.list_hardware) {
    std::printf("%s", list_hardware().c_str());
    return 0;
  }
  if (!c.calibrate.out.empty()) return run_calibrate(c);
  if (!c.scoreboard.empty()) {
    require_only_scoreboard(c);
    run_scoreboard(c.scoreboard, c.json, c.sweep_files.csv);
    return 0;
  }
  if (!c.sweep_files.csv.empty() && c.sweeps.empty()) {
    throw UsageError("--csv: no rows to write; fix: pass --sweep or --scoreboard");
  }
  if (c.file.empty()) throw UsageError("TRACE is required; fix: name a recorded trace");
  std::optional<tracer::Hardware> hardware;
  if (!c.hardware.empty()) {
    require_no_link(c);
    hardware = open_hardware(c.hardware);
    c.options.hardware = c.program.hardware = &*hardware;
    if (!c.interference) c.options.interference = hardware->interference;
  }
  if (c.interference) c.options.interference = *c.interference;
  const std::vector<tracer::Trace> further = open_further(c);
  for (const tracer::Trace& trace : further) c.program.further.push_back(&trace);
  if (c.mode == kModelParallel) choose_split(c);
  if (!c.sweeps.empty()) return run_sweep(c);
  if (c.optimise_buckets) return run_best_buckets(c);
  if (!c.batch_for.empty()) return run_batch_for(c);
  if (!c.mode.empty() && c.program.devices > tracer::kMostDevices) return run_many(c);
  if (!c.out.empty()) run::require_other_file(c.file, c.out);
  const tracer::Trace measured = open_recorded(c.file);
  const tracer::Trace emulated = tracer::emulate(program_of(c, measured), c.options);
  const std::string text = result_of(c, measured, emulated);
  if (!c.out.empty()) tracer::write_trace(emulated, c.out);
  std::printf("%s\n", text.c_str());
  if (c.out.empty()) return 0;
  const size_t steps = tracer::join_ranks(tracer::find_steps(emulated)).size();
  std::fprintf(c.json ? stderr : stdout, "=> trace written: %s (%zu step%s)\n",
               c.out.c_str(), steps, steps == 1 ? "" : "s");
  return 0;
}

}  // namespace

void add_emulate(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "emulate", "re-time a trace as if each device had its own hardware");
  auto c = std::make_shared<EmulateCommand>();
  add_emulate_flags(*command, c);
  command->callback([c, &action] { action = [c] { return run(*c); }; });
}

}  // namespace lockstep::cli
