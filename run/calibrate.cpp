#include "run/calibrate.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>

#include "base/file.h"
#include "base/program.h"
#include "run/train.h"
#include "run/words.h"
#include "tracer/emulate/hardware/calibrate.h"

namespace lockstep::run {
namespace {

constexpr int kUnrecorded = 2, kSteps = 7;  // of each run

/// A file that a run writes and nobody reads.
struct TemporaryTrace {
  explicit TemporaryTrace(int devices)
      : path(std::filesystem::temp_directory_path() /
             fmt::format("lockstep-calibrate-{}-{}.json", ::getpid(), devices)) {}
  ~TemporaryTrace() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  const std::filesystem::path path;
};

tracer::Trace record(const CalibrateOptions& o, train::Mode mode, int devices) {
  RunConfig config;
  config.mode = mode;
  config.model.arch = o.arch;
  config.device.type = o.device;
  config.device.count = devices;
  config.device.threads = 1;
  config.data.kind = DataKind::generated;
  config.data.workers = 0;
  config.data.length = o.batch * devices * kSteps;
  config.recipe.batch_size = o.batch * devices;
  config.recipe.lr = 0.001;
  config.recipe.epochs = 1;
  config.steps = kSteps;
  config.output.quiet = true;
  const TemporaryTrace file(devices);
  config.output.trace = file.path;
  config.output.trace_steps = fmt::format("{}:{}", kUnrecorded, kSteps);
  tracer::Trace trace;
  const int code = run_training(config, &trace);
  if (code != 0) throw std::runtime_error("a run of the calibration was interrupted");
  return trace;
}

tracer::CalibrationRuns record_runs(const CalibrateOptions& o) {
  using train::Mode;
  tracer::CalibrationRuns runs;
  for (int round = 0; round < o.rounds; ++round) {
    runs.alone.push_back(record(o, Mode::single, 1));
    runs.together.push_back(record(o, Mode::ddp, 2));
  }
  runs.two = record(o, Mode::dp, 2);
  runs.three = record(o, Mode::dp, 3);
  return runs;
}

std::string link_text(const char* what, const tracer::FittedLink& link) {
  return fmt::format(
      "=>   {}: {:.3g} GB/s + {:.3g} µs (line through {} copies; median error {:.0f} "
      "%)\n",
      what, link.gb_per_s, link.latency_us, link.copies, 100 * link.error);
}

}  // namespace

std::string calibrate_machine(const CalibrateOptions& o) {
  if (!computes(o.device)) {
    throw UsageError(fmt::format(
        "--calibrate measures times, but --device-type {} computes nothing; fix: use "
        "--device-type cpu",
        word(o.device)));
  }
  AtomicFile file(o.out);
  const tracer::Calibration found = tracer::calibrate(record_runs(o));
  const std::string source = fmt::format(
      "{} emulate --calibrate, {:%F}: {} training steps of {}, batch {} on each of 1, "
      "2 and 3 {} devices",
      kVersion, fmt::gmtime(std::time(nullptr)), kSteps - kUnrecorded, o.arch, o.batch,
      word(o.device));
  const std::string name = std::filesystem::path(o.out).stem();
  file.write(tracer::profile_of(found, name, o.devices, source).dump(2) + "\n");
  file.commit();
  std::string text = fmt::format("=> calibrated: {}\n", source);
  text += link_text("host and device", found.host_link);
  text += link_text("device and device", found.device_link);
  text += fmt::format(
      "=>   the host: {:.3g} µs to launch a kernel, {:.3g} µs for a module's call; in "
      "replicate {:.3g} µs per parameter and further replica, and {:.3g} µs per "
      "parameter\n=>   kernels of one step:",
      found.launch_us, found.module_us, found.replica_us_per_parameter,
      found.replicate_us_per_parameter);
  for (const auto& [phase, ms] : found.device_ms) {
    text += fmt::format(" {} {:.3g} ms", phase, ms);
  }
  text += "\n=>   memory:";
  for (const auto& [kernel, rate] : found.memory_gb_per_s) {
    text += fmt::format(" {} {:.3g} GB/s", kernel, rate);
  }
  text += fmt::format(
      "\n=>   while another device computes, they take {:.3g} times as long",
      found.contention.slowdown);
  return text + fmt::format("\n=> profile written: {}; use it by --hardware {}\n",
                            o.out, o.out);
}

}  // namespace lockstep::run
