// `lockstep experiment scaling`: the same batch per device on more and more devices.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "experiments/imagenet.h"
#include "experiments/scaling.h"
#include "experiments/studies.h"
#include "run/environment.h"
#include "run/words.h"
#include "tracer/emulate/emulate.h"
#include "tracer/format/trace.h"

namespace lockstep::experiments {
namespace fs = std::filesystem;
namespace {

/// Not recorded: kernels are built in the first step, and DDP's buckets are rebuilt in
/// the second.
constexpr int64_t kWarmUp = 2;

std::string trace_of(const ScalingStudy& o, const std::string& name) {
  return o.common.out + "/" + name + ".trace.json.gz";
}

std::vector<std::string> words_for_all(const ScalingStudy& o) {
  const StudyOptions& c = o.common;
  const int64_t steps = kWarmUp + o.steps;
  std::vector<std::string> words{
      "--steps",
      fmt::to_string(steps),
      "--trace-steps",
      "2:" + fmt::to_string(steps),
      "-p",
      "1",
      "--workers",
      "2",
  };
  const auto seed = seed_words(c);
  words.insert(words.end(), seed.begin(), seed.end());
  const auto add = [&words](const char* flag, const std::string& value) {
    words.insert(words.end(), {flag, value});
  };
  if (c.data.empty()) {
    add("--dataset", "generated");
    add("--length", fmt::to_string(steps * o.batch * o.devices.back()));
    add("--image-size", fmt::to_string(o.image_size));
  }
  if (c.arch.starts_with("resnet")) add("--stem", std::string(run::word(o.stem)));
  if (c.device_type != DeviceType::cpu) {
    add("--device-type", std::string(run::word(c.device_type)));
  }
  if (c.threads_per_device > 0) {
    add("--threads-per-device", fmt::to_string(c.threads_per_device));
  }
  words.insert(words.end(), c.more.begin(), c.more.end());
  return words;
}

tracer::EmulateOptions hardware(const ScalingStudy& o) {
  return {.link = {.gb_per_s = o.link_gb_per_s}, .compute_scale = o.compute_scale};
}

/// Returns the summaries of a run on the measured clock and, on virtual CPU devices, on
/// the emulated one.
std::vector<tracer::Summary> summaries(const ScalingStudy& o, const std::string& file) {
  if (!fs::exists(file)) {
    throw std::runtime_error(file + ": missing; fix: --again repeats the runs");
  }
  const tracer::Trace trace = tracer::read_trace(file);
  std::vector<tracer::Summary> clocks{tracer::summarize(trace)};
  if (o.common.device_type == DeviceType::cpu) {
    clocks.push_back(tracer::summarize(tracer::emulate(trace, hardware(o))));
  }
  return clocks;
}

std::vector<std::string> notes(const ScalingStudy& o,
                               const std::vector<ScalingResult>& results) {
  StudyOptions machine = o.common;
  machine.devices = static_cast<int>(o.devices.back());
  std::vector<std::string> notes{
      fmt::format("{} on {}, {} images on each device, {} steps after {}; up to {}",
                  o.common.arch,
                  o.common.data.empty() ? "generated images" : o.common.data, o.batch,
                  results[0].clocks[0].train.steps.size(), kWarmUp,
                  machine_note(machine)),
      "ms per step: what a step waited for (the longest path through its events); what "
      "runs meanwhile costs nothing and is not listed. Without its inner rows, a "
      "column "
      "adds up to the step; other: reading the loss, metrics, and threads waking up",
      "missing: how much longer the step is than that of one device, which has as many "
      "images; speed-up: in images per second",
      "predicted: 1/((1 − p) + p/N) for N devices, where p is the share of forward and "
      "backward in one device's step, and the rest takes as long for each image"};
  if (o.common.device_type == DeviceType::cpu) {
    notes.push_back(
        "emulated: the recorded steps on devices that each have their own hardware: " +
        tracer::assumptions(hardware(o)));
  }
  if (results[0].clocks[0].null_devices) notes.emplace_back(tracer::kNullSentence);
  const auto sentences = scaling_sentences(results);
  notes.insert(notes.end(), sentences.begin(), sentences.end());
  return notes;
}

void require_ascending_from_one(const ScalingStudy& o) {
  const bool ascending =
      std::adjacent_find(o.devices.begin(), o.devices.end(), [](int64_t a, int64_t b) {
        return a >= b;
      }) == o.devices.end();
  if (o.devices.size() < 2 || o.devices.front() != 1 || !ascending) {
    throw run::UsageError(
        "--devices requires numbers in ascending order, beginning with 1, such as "
        "1,2,4");
  }
}

}  // namespace

std::vector<ScalingRun> scaling_runs(const ScalingRuns& o) {
  std::vector<ScalingRun> runs;
  const auto add = [&](char letter, const char* mode, const std::string& how,
                       int64_t devices) {
    ScalingRun run;
    run.devices = devices;
    run.batch = o.batch * devices;
    run.name = fmt::format("{}_{}_{}", family(o.arch), letter, run.batch);
    run.heading = fmt::format("{}{} on {}", how, run.batch, devices);
    run.words = {"train"};
    if (!o.data.empty()) run.words.push_back(o.data);
    run.words.insert(run.words.end(), {"-a", o.arch, "--mode", mode, "--devices",
                                       fmt::to_string(devices), "--batch-size",
                                       fmt::to_string(run.batch)});
    run.words.insert(run.words.end(), o.more.begin(), o.more.end());
    runs.push_back(run);
  };
  add('s', "single", "", o.devices.front());
  for (size_t i = 1; i < o.devices.size(); ++i) add('p', "dp", "DP, ", o.devices[i]);
  for (size_t i = 1; i < o.devices.size(); ++i) add('d', "ddp", "DDP, ", o.devices[i]);
  return runs;
}

int run_scaling(const ScalingStudy& o) {
  require_ascending_from_one(o);
  check_folders(o.common);
  std::vector<ScalingResult> results;
  for (const ScalingRun& run : scaling_runs(
           {o.common.arch, o.common.data, o.batch, o.devices, words_for_all(o)})) {
    const std::string trace = trace_of(o, run.name);
    LoggedRun one{run.name, run.words};
    one.words.insert(one.words.end(), {"--trace", trace});
    int code = 0;
    if (!run_or_read(o.common, one, code)) return code;
    results.push_back({run, summaries(o, trace)});
  }
  Findings findings;
  findings.rows = scaling_rows(results);
  findings.notes = notes(o, results);
  findings.json = scaling_json(results, findings.notes);
  findings.plot = scaling_plot(
      results, fmt::format("{}, {} images on each device", o.common.arch, o.batch));
  return report(o.common, findings);
}

}  // namespace lockstep::experiments
