#include "run/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/file.h"
#include "base/program.h"
#include "engine/runtime/device_context.h"
#include "run/devices.h"
#include "run/emulated_devices.h"
#include "run/environment.h"
#include "run/printable.h"
#include "run/sharing.h"
#include "run/writing.h"
#include "tracer/analysis/summary.h"
#include "tracer/emulate/hardware/hardware.h"
#include "tracer/format/keys.h"
#include "tracer/format/partial.h"
#include "tracer/record/collect.h"
#include "tracer/record/journal.h"
#include "tracer/record/recorder.h"

namespace lockstep::run {
namespace {

/// Returns how many steps may accumulate in memory before they are converted to times:
/// 16, of ranks that are threads together.
int64_t drain_every(const RunConfig& config) {
  constexpr int64_t kSteps = 16;
  const bool threads =
      train::has_ranks(mode_of(config)) && !ranks_are_processes(config);
  return std::max<int64_t>(1,
                           threads ? kSteps / std::ssize(devices_of(config)) : kSteps);
}

tracer::RunFacts facts_of(const RunConfig& config, const nn::Module& model,
                          const parallel::Devices& devices, const RankPlace& place) {
  tracer::RunFacts facts{config.environment.command_line(),
                         train::name(mode_of(config)),
                         config.model.arch,
                         {},
                         {}};
  int last = place.processes() - 1;
  for (Device device : devices) last = std::max(last, device.index);
  for (int i = 0; i <= last; ++i) {
    const Device device{devices[0].type, i};
    const bool cuda = device.type == DeviceType::cuda;  // several may share a GPU
    const bool emulated = device.type == DeviceType::emulated;
    facts.devices.push_back(
        device.str() + (cuda       ? " on " + gpu_of(device, place)
                        : emulated ? " as " + config.device.hardware->device_times->name
                                   : ""));
  }
  if (place.group) {
    facts.world_size = place.processes();
    facts.rank = place.is_process ? place.rank : -1;
    facts.backend = place.group->communicator().algorithm();
  }
  if (place.clock) {
    facts.clock = place.clock->name();
    for (const auto& [at, offset, trip] : place.clock->samples()) {
      facts.comparisons.push_back({at, offset, trip});
    }
  }
  auto add = [&facts](const auto& tensors, const char* kind) {
    for (auto [name, tensor] : tensors) {
      if (const size_t at = name.find("module."); at != name.npos) name.erase(at, 7);
      facts.tensors.push_back({name,
                               lockstep::name(tensor.dtype()),
                               kind,
                               {tensor.sizes().begin(), tensor.sizes().end()},
                               tensor.nbytes()});
    }
  };
  add(model.named_parameters(), "parameter");
  add(model.named_buffers(), "buffer");
  return facts;
}

}  // namespace

Recording::Recording(const RunConfig& config, train::Trainer& trainer,
                     const DataSets& data, const parallel::Devices& devices,
                     const RankPlace& place, int64_t steps_planned)
    : config_(config),
      trainer_(trainer),
      dataset_(data.name),
      devices_(devices),
      place_(place) {
  if (!config.output.trace.empty()) {
    std::tie(first_, last_) = traced_steps(config, steps_planned);
  }
  // Events are collected when no rank records, for which ranks would have to meet.
  time_all_ = !config.output.summary.empty() && !train::shares_memory(mode_of(config));
  if (last_ > 0 || time_all_) {
    const std::string said = prepare_gpu_timeline(devices_);
    if (place_.main() && !config.output.quiet) fmt::print("{}", said);
  }
  for (Device device : devices_) runtime::context(device).allocator().reset_peak();
  trainer.before_step = [this](int64_t step) { before(step); };
  trainer.after_step = [this](const train::StepResult& result) { after(result); };
}

std::pair<int64_t, int64_t> Recording::traced_steps(const RunConfig& config,
                                                    int64_t planned) {
  const OutputConfig& output = config.output;
  const bool continues = config.checkpoint.looked && !config.checkpoint.resume.empty();
  if (planned == 0 && !continues) {
    throw UsageError("--trace: a run of 0 steps has nothing to record");
  }
  const int64_t least = std::max<int64_t>(planned, 1);
  int64_t first = planned > 7 ? 2 : 0, last = planned > 7 ? 7 : least;
  if (output.trace_steps.empty()) return {first, last};
  char rest = 0;
  if (std::sscanf(output.trace_steps.c_str(), "%ld:%ld%c", &first, &last, &rest) != 2 ||
      first < 0 || last <= first) {
    throw UsageError("--trace-steps must be A:B with 0 <= A < B, not '" +
                     output.trace_steps + "'");
  }
  if (first >= planned && !continues) {
    throw UsageError(fmt::format("--trace-steps {}: this run has only steps 0 to {}",
                                 output.trace_steps, planned - 1));
  }
  return {first, last};
}

std::function<bool(int64_t)> recording_boundaries(const RunConfig& config,
                                                  int64_t planned) {
  const bool traces = !config.output.trace.empty();
  const auto traced = traces ? Recording::traced_steps(config, planned)
                             : std::pair<int64_t, int64_t>(-1, -1);
  const int64_t every = config.output.summary.empty() ? INT64_MAX : drain_every(config);
  return [=](int64_t step) {
    return step == traced.first || step == traced.second || step % every == 0;
  };
}

void Recording::before(int64_t step) {
  const bool traced = step >= first_ && step < last_;
  // In the step before, so that the first traced one waits for no comparison.
  if (place_.clock && last_ > 0 && step > 0 && step + 1 == first_) {
    place_.clock->compare();
  }
  // Most mistakes in a model show in the first step.
  watches_first_ =
      !traced && !time_all_ && last_ > 0 && !place_.group && is_first_of_run();
  if (traced && !std::exchange(journals_, true)) begin_journal();
  if (traced || time_all_ || watches_first_) tracer::start_recording();
}

void Recording::begin_journal() {
  std::error_code none;
  const auto status = std::filesystem::status(config_.output.trace, none);
  if (exists(status) && !is_regular_file(status)) return;  // a pipe, /dev/stdout
  const std::string file = tracer::journal_of(config_.output.trace);
  const std::string why = tracer::open_journal(file, description());
  if (why.empty() || config_.output.quiet) return;
  fmt::print("=> note: no {} ({}): a crash loses the trace\n", printable(file), why);
}

void Recording::forget_first_step() {
  tracer::stop_recording();
  for (Device device : devices_) runtime::context(device).synchronize();
  tracer::collect();
  tracer::set_origin(0);  // the trace begins with the first traced step
}

void Recording::after(const train::StepResult& result) {
  if (result.batch > 0) {
    results_.push_back(result);
  } else {
    left_out_.insert(result.step);
    tracer::leave_out_of_journal(result.step);
  }
  if (std::exchange(watches_first_, false)) forget_first_step();
  const int64_t next = result.step + 1;
  const bool end_of_trace = next == last_;
  const bool start_of_trace = next == first_;
  if (!tracer::recording()) return;
  if (end_of_trace || start_of_trace ||
      (time_all_ && next % drain_every(config_) == 0)) {
    drain();
  }
  // Between two traced steps ranks may communicate, for a checkpoint or at the end of
  // the run; only rank 0 times all steps, but all record that.
  if (next > first_ && next < last_) tracer::start_recording();
  if (!end_of_trace) return;
  if (place_.clock) place_.clock->compare();
  try {
    write_trace();                       // now, since a long run may be killed
  } catch (const std::runtime_error&) {  // finish() tries again and reports
  }
}

/// Takes over the recorded events: keeps those of traced steps, and times all.
void Recording::drain() {
  tracer::stop_recording();
  for (Device device : devices_) runtime::context(device).synchronize();
  take_events();
}

/// Tasks count the memory counters of their own collection; adds those that were kept
/// before it.
void Recording::continue_counting(std::vector<tracer::Event>& events) {
  using namespace tracer;  // NOLINT
  for (const Event& event : events) {
    if (event.is(categories::kernel)) {
      pid_of_device_[int_arg(event.args, keys::device, kNone)] = event.pid;
    }
  }
  const std::map<int64_t, int64_t> before = counters_;
  const auto shift = [&](Event& event, const char* key, const char* of) {
    const auto pid = pid_of_device_.find(int_arg(event.args, of, kNone));
    if (pid == pid_of_device_.end() || !event.args.contains(key)) return;
    const auto kept = before.find(pid->second);
    if (kept == before.end()) return;
    event.args[key] = int_arg(event.args, key) + kept->second;
  };
  for (Event& event : events) {
    if (event.ph == 'C') ++counters_[event.pid];
    shift(event, keys::memory_counters, keys::device);
    shift(event, keys::src_memory_counters, keys::src);
  }
}

void Recording::take_events() {
  std::vector<tracer::Event> events = tracer::collect();
  continue_counting(events);
  for (const tracer::Event& event : events) {
    if (!event.is("phase") || event.name != "step") continue;
    if (bool_arg(event.args, tracer::keys::interrupted)) failed_ = event.step;
  }
  std::erase_if(events, [this](const tracer::Event& event) {
    return left_out_.contains(event.step);
  });
  if (time_all_) {
    tracer::Trace part;
    part.events = std::move(events);
    const tracer::Summary summary = tracer::summarize(part);
    for (const auto* group : {&summary.train, &summary.eval}) {
      for (const tracer::StepSummary& step : group->steps) {
        timings_.resize(std::max<size_t>(timings_.size(), step.step + 1));
        const tracer::Json json = tracer::step_json(step);  // large, with many ranks
        for (const char* key : kTimings) {
          if (json.contains(key)) timings_[step.step][key] = json[key];
        }
      }
    }
    events = std::move(part.events);
  }
  for (tracer::Event& event : events) {
    const bool traced =
        event.step == tracer::kNone
            ? last_ > 0
            : (event.step >= first_ && event.step < last_) || event.step == failed_;
    if (traced) kept_.push_back(std::move(event));
  }
}

std::vector<int64_t> Recording::measure_peaks() const {
  std::vector<int64_t> peaks;
  for (Device device : devices_) peaks.push_back(runtime::peak_bytes(device));
  return peaks;
}

const tracer::Trace& Recording::trace() {
  finish();
  return trace_;
}

void Recording::finish() {
  if (std::exchange(finished_, true)) return;
  const Writing writing;
  trainer_.before_step = nullptr;
  trainer_.after_step = nullptr;
  for (Device device : devices_) runtime::context(device).synchronize();
  if (peaks_.empty()) peaks_ = measure_peaks();
  if (!place_.is_process) skipped_images_ = skipped_images();
  drain();
  if (last_ > 0 && !written_ && trace_.events.empty() && place_.clock) {
    place_.clock->compare();
  }
  if (last_ > 0 && !written_) write_trace();
  if (config_.output.summary.empty()) return;
  write_summary();
  if (!config_.output.quiet)
    std::printf("=> summary written: %s\n", config_.output.summary.c_str());
}

void Recording::write_until_failure(const std::string& error) {
  const int64_t event = tracer::failed_event();
  tracer::stop_recording();
  for (Device device : devices_) {
    try {
      runtime::context(device).synchronize();
    } catch (const std::exception&) {  // the caller reports the failure
    }
  }
  take_events();
  if (place_.group) failed_ = tracer::kNone;  // its collectives are incomplete
  const int64_t done = results_.empty() ? 0 : results_.back().step + 1;
  if (!place_.group) {
    std::erase_if(kept_, [&](const tracer::Event& e) {
      return e.step >= done && e.step != failed_;
    });
  }
  if (done <= first_ && failed_ == tracer::kNone) return tracer::remove_journal();
  assemble_trace();
  if (place_.group) {
    const int64_t last = tracer::keep_complete_steps(trace_);
    tracer::set_partial(trace_, {{place_.rank}, place_.processes(), last});
  }
  if (failed_ != tracer::kNone) {
    tracer::Json& failure = trace_.lockstep[tracer::top::failure];
    failure = {{tracer::top::error, error}};
    if (event != tracer::kNone) failure[tracer::top::event] = event;
  }
  write_trace();
}

void Recording::rescue(const std::string& error) noexcept {
  if (std::exchange(finished_, true) || last_ == 0) return;
  const Writing writing;
  try {
    if (!trace_.events.empty() && !written_) write_trace();
    if (!written_) write_until_failure(error);
    if (!written_) return;
    const char* file = config_.output.trace.c_str();
    if (failed_ != tracer::kNone) {
      std::fprintf(stderr, "lockstep: the trace ends at the failing call: %s view %s\n",
                   program().c_str(), file);
      return;
    }
    std::fprintf(stderr, "lockstep: the trace of the preceding steps is in %s%s\n",
                 file,
                 place_.is_process ? "; `trace merge` merges the ranks' files" : "");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lockstep: no trace of the preceding steps: %s\n",
                 error.what());
  }
}

void Recording::assemble_trace() {
  // Several drains may deliver the same metadata: keep the first of each.
  std::map<std::string, bool> seen;
  std::erase_if(kept_, [&seen](const tracer::Event& event) {
    if (event.ph != 'M') return false;
    const std::string key =
        event.name.str() + std::to_string(event.pid) + "/" + std::to_string(event.tid);
    return !seen.emplace(key, true).second;
  });
  tracer::sort_events(kept_);
  tracer::forget_what_was_left_out(kept_, !left_out_.empty());
  trace_ = tracer::finish_trace(description(), std::move(kept_));
}

/// Returns the trace without its events.
tracer::Trace Recording::description() const {
  tracer::Trace trace =
      tracer::describe_run(facts_of(config_, *trainer_.model(), devices_, place_));
  if (place_.server_processes > 0 || !server_devices(config_).empty()) {
    trace.lockstep[tracer::top::workers] = place_.world;
  }
  if (config_.device.hardware == nullptr) return trace;
  trace.lockstep[tracer::top::emulated_devices] = {
      {"hardware", config_.device.hardware->name},
      {"device", config_.device.hardware->device_times->name},
      {"assumed", emulated_devices_assume(config_)}};
  return trace;
}

void Recording::write_trace() {
  if (trace_.events.empty()) assemble_trace();
  std::set<int64_t> steps;
  for (const tracer::Event& event : trace_.events) {
    if (event.is("phase") && event.name == "step") steps.insert(event.step);
  }
  const bool has_steps = place_.is_server() ? !trace_.events.empty() : !steps.empty();
  if (!has_steps) {  // a signal came before the first, or the run had none
    tracer::remove_journal();
    if (place_.is_process && !place_.main()) return;  // rank 0 says it
    std::fprintf(stderr, "lockstep: no trace written: step %ld was not reached\n",
                 static_cast<long>(first_));
    return;
  }
  tracer::write_trace(trace_, config_.output.trace);
  tracer::remove_journal();
  written_ = true;
  if (config_.output.quiet || place_.is_process) return;  // see merge_rank_files
  const std::string which = steps.size() == 1
                                ? fmt::format("step {}", *steps.begin())
                                : fmt::format("{} steps, {} to {}", steps.size(),
                                              *steps.begin(), *steps.rbegin());
  std::printf("=> trace written: %s (%s)\n", config_.output.trace.c_str(),
              which.c_str());
}

double Recording::images_per_second() const {
  double images = 0, seconds = 0;
  bool first = true;
  for (const train::StepResult& result : results_) {
    if (!result.train) continue;
    if (!std::exchange(first, false) || results_.size() == 1) {
      images += static_cast<double>(result.batch);
      seconds += result.seconds;
    }
  }
  return seconds > 0 ? images / seconds : 0;
}

}  // namespace lockstep::run
