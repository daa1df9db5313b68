#include "tracer/analysis/summary.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include "tracer/analysis/run_both.h"
#include "tracer/analysis/spans.h"
#include "tracer/analysis/steps.h"
#include "tracer/analysis/summary_paths.h"
#include "tracer/emulate/longest_path.h"
#include "tracer/format/facts.h"
#include "tracer/format/lanes.h"
#include "tracer/format/partial.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

/// Measures one step in a single pass over its tasks.
class StepMeter {
 public:
  StepMeter(const Step& step, const Lanes& lanes, const ComputingTime& computing,
            bool emulated, StepGroup& group)
      : step_(step),
        lanes_(lanes),
        whole_(computing),
        emulated_(emulated),
        group_(group) {}

  StepSummary take() {
    for (const Event* phase : step_.phases) {
      phases_.add_host(phase->name.view(), phase->ts, phase->end());
    }
    for (const Event* task : step_.tasks) {
      if (task->is(categories::kernel)) {
        take_kernel(*task);
      } else if (task->is(categories::copy)) {
        take_copy(*task);
      } else {
        add_to_phase(*task, text_arg(task->args, keys::phase), worker_of(*task));
      }
    }
    summary_.step = step_.number;
    summary_.batch = step_.batch;
    summary_.own_pace = step_.is_only_a_span();
    summary_.length = step_.length();
    summary_.start = step_.event->ts;
    summary_.overhang = step_.last_end - step_.host_end;
    summary_.phases = phases_.costs();
    summary_.rank_lengths = step_.rank_lengths;
    summary_.collectives = collective_times(step_, lanes_, whole_);
    for (const auto& [device, spans] : computing_) {
      summary_.computing[device] = spans.covered();
    }
    return std::move(summary_);
  }

 private:
  /// Returns the device that runs a task; for a copy to the host, its sender.
  int64_t worker_of(const Event& task) const {
    const Lane& lane = lanes_.of(task);
    return lane.is_host() ? port_arg(task.args, keys::src) : lane.device;
  }

  void take_kernel(const Event& kernel) {
    const KernelFacts facts = kernel_facts(kernel);
    const int64_t device = worker_of(kernel);
    if (computes(kernel)) computing_[device].add(kernel.ts, kernel.end());
    summary_.queued = add_within_range(summary_.queued, facts.queued);
    if (kernel.name != names::emulated_work) {  // it waits, and is not disturbed
      summary_.kernel_wall = add_within_range(summary_.kernel_wall, kernel.dur);
    }
    summary_.kernel_cpu = add_within_range(summary_.kernel_cpu, facts.cpu);
    const bool shared = facts.phase.empty() || is_shared_computing(facts.phase);
    if (computes(kernel) && shared) {
      summary_.computing_cpu = add_within_range(
          summary_.computing_cpu, emulated_ ? int64_t{kernel.dur} : facts.cpu);
    }
    add_to_phase(kernel, facts.phase, device);
  }

  void take_copy(const Event& copy) {
    const CopyFacts facts = copy_facts(copy);
    const Lane& lane = lanes_.of(copy);
    add_to_phase(copy, facts.phase, lane.is_host() ? facts.src : lane.device);
    const auto count = [&](int64_t& sum) {
      sum = add_within_range(sum, facts.known_bytes());
    };
    count(bytes_of(facts.why));
    count(group_.ports[facts.src].out);
    count(group_.ports[facts.dst].in);
  }

  int64_t& bytes_of(std::string_view why) {
    if (last_bytes_ == nullptr || why != last_why_) {
      const auto reason = group_.bytes_by_why.try_emplace(std::string(why)).first;
      last_why_ = reason->first;
      last_bytes_ = &reason->second;
    }
    return *last_bytes_;
  }

  void add_to_phase(const Event& task, std::string_view name, int64_t device) {
    if (!name.empty()) phases_.add_task(name, device, task.ts, task.end());
  }

  const Step& step_;
  const Lanes& lanes_;
  const ComputingTime& whole_;
  const bool emulated_;
  StepGroup& group_;
  StepSummary summary_;
  PhaseMeter phases_;
  std::map<int64_t, Spans> computing_;
  std::string_view last_why_;
  int64_t* last_bytes_ = nullptr;
};

StepGroup& group_of(const Step& step, Summary& summary) {
  return step.train ? summary.train : summary.eval;
}

void take_path(const LongestPath& path, StepSummary& summary) {
  summary.path = path.path;
  for (const auto& [what, nanoseconds] : path.shares) {
    summary.path_shares.push_back({what, nanoseconds});
  }
  sort_shares(summary.path_shares);
}

std::map<int64_t, MemoryPeak> memory_peaks(const Trace& trace, const Lanes& lanes) {
  std::map<int64_t, MemoryPeak> peaks;
  Args::Members categories;
  for (const Event& event : trace.events) {
    if (event.ph != 'C' || event.name != names::memory) continue;
    event.args.list(categories);
    int64_t total = 0;
    for (const auto& [category, bytes] : categories) {
      total = add_within_range(total, bytes.integer());
    }
    MemoryPeak& peak = peaks[lanes.of(event).device];
    if (total <= peak.total) continue;
    peak = {total, {}};
    for (const auto& [category, bytes] : categories) {
      peak.categories[std::string(category)] = bytes.integer();
    }
  }
  return peaks;
}

std::vector<KernelTime> kernel_times(const Trace& trace) {
  std::unordered_map<std::string_view, KernelTime> times;
  for (const Event& event : trace.events) {
    if (event.ph != 'X' || !computes(event)) continue;
    const KernelFacts facts = kernel_facts(event);
    const std::string_view impl = facts.impl.empty() ? event.name.view() : facts.impl;
    KernelTime& time = times[impl];
    ++time.count;
    time.wall = add_within_range(time.wall, event.dur);
    time.cpu = add_within_range(time.cpu, facts.cpu);
  }
  std::vector<KernelTime> sorted;
  for (auto& [impl, time] : times) {
    time.impl = impl;
    sorted.push_back(std::move(time));
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.wall != b.wall ? a.wall > b.wall : a.impl < b.impl;
  });
  return sorted;
}

/// Leaves `finder` empty for a trace whose waits are not recorded or form a cycle,
/// which `check` reports: everything else about it is still valid.
void prepare_paths(const Trace& trace, const Lanes& lanes,
                   std::optional<LongestPaths>& finder) {
  if (trace.lockstep.contains(top::imported)) return;
  try {
    finder.emplace(trace, lanes);
  } catch (const std::runtime_error&) {
  }
}

bool has_collectives(const Step& step) {
  return std::any_of(step.tasks.begin(), step.tasks.end(), [](const Event* task) {
    return task->is(categories::collective);
  });
}

std::vector<StepSummary> measure(const Trace& trace, const Lanes& lanes,
                                 const std::vector<Step>& steps, Summary& summary,
                                 const Work& work) {
  const bool any = std::any_of(steps.begin(), steps.end(), has_collectives);
  const ComputingTime computing = any ? ComputingTime(trace, lanes) : ComputingTime();
  const Splitter splitter(trace, lanes);
  const bool emulated = summary.clock == values::emulated;
  const PipelineReader pipelines(trace, lanes);
  std::vector<StepSummary> measured(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    work.check();
    if (steps[i].interrupted) continue;
    measured[i] =
        StepMeter(steps[i], lanes, computing, emulated, group_of(steps[i], summary))
            .take();
    std::vector<DevicePieces> pieces = splitter.pieces(steps[i]);
    measured[i].pipeline = pipelines.of(steps[i], pieces);
    measured[i].split = split_of(steps[i], pieces);
  }
  return measured;
}

/// A file that names a rank contains only that rank; `trace merge` removes the name.
void take_rank(const Trace& trace, Summary& summary) {
  const auto info = trace.other.find(top::distributed);
  if (summary.imported || info == trace.other.end()) return;
  summary.world_size = int_arg(*info, top::world_size, 1);
  if (summary.world_size > 1) summary.rank = int_arg(*info, top::rank, kNone);
}

void take_devices(const Trace& trace, Summary& summary) {
  const auto found = trace.lockstep.find(top::devices);
  if (found == trace.lockstep.end() || !found->is_array()) return;
  summary.processor = processor_of(trace.lockstep);
  for (const Json& device : *found) {
    const std::string name = string_arg(device, keys::name);
    summary.devices += name != "none";  // stands for those that an import lacks
    summary.null_devices |= name.rfind("null", 0) == 0;
  }
}

void take_servers(const Trace& trace, Summary& summary) {
  for (const Event& event : trace.events) {
    if (!event.is(categories::phase) || event.name != names::step) continue;
    summary.servers = std::max(summary.servers, int_arg(event.args, keys::servers));
  }
}

void take_utilisation(const Trace& trace, const std::vector<Step>& steps,
                      Summary& summary) {
  std::vector<const Step*> train, eval;
  for (const Step& step : steps) {
    if (step.interrupted || step.warm_up) continue;
    (step.train ? train : eval).push_back(&step);
  }
  summary.train.utilisation = measure_utilisation(trace, train);
  summary.eval.utilisation = measure_utilisation(trace, eval);
}

/// Without a short form, which older traces lack, all is said.
void take_assumptions(const Json& emulation, Summary& summary) {
  const auto parts = emulation.find("assumed_in_short");
  if (parts != emulation.end() && parts->is_array()) {
    for (const Json& part : *parts) {
      if (part.is_string()) summary.assumed_in_short.push_back(part.get<std::string>());
    }
  } else if (!summary.assumed.empty()) {
    summary.assumed_in_short = {summary.assumed};
  }
}

/// What the times are, if they were not measured.
void take_emulation(const Trace& trace, Summary& summary) {
  const auto emulation = trace.lockstep.find(top::emulation);
  if (emulation != trace.lockstep.end()) {
    summary.assumed = string_arg(*emulation, "assumed");
    take_assumptions(*emulation, summary);
    summary.as_measured = string_arg(*emulation, "durations") == values::measured;
  }
  const Json& devices = object_arg(trace.lockstep, top::emulated_devices);
  summary.emulated_devices = string_arg(devices, "device");
  if (!summary.emulated_devices.empty()) {
    if (!summary.assumed.empty()) summary.assumed += "; of the recorded devices, ";
    summary.assumed += string_arg(devices, "assumed");
    summary.assumed_in_short.push_back(
        emulation == trace.lockstep.end()
            ? summary.assumed
            : "recorded devices: each phase takes as long as was measured on a " +
                  summary.emulated_devices + ", divided among its kernels");
  }
}

std::string what_is_missing(const Trace& trace) {
  const auto partial = partial_of(trace);
  const bool said = trace.lockstep.contains(top::partial);
  if (partial && said) return "partial: " + partial->text();
  return string_arg(object_arg(trace.lockstep, top::imported), "cut");
}

Summary summarize(const Trace& trace, Work& work, PathPieces* pieces) {
  work.now("dividing the steps");
  Summary summary;
  summary.mode = string_arg(trace.lockstep, top::mode);
  summary.arch = string_arg(trace.lockstep, top::arch);
  summary.clock = string_arg(trace.lockstep, top::clock);
  summary.imported = trace.lockstep.contains(top::imported);
  summary.failure = string_arg(object_arg(trace.lockstep, top::failure), top::error);
  summary.cut = what_is_missing(trace);
  summary.left_out = left_out_text(trace.lockstep);
  take_devices(trace, summary);
  take_servers(trace, summary);
  take_rank(trace, summary);
  take_emulation(trace, summary);

  const Lanes lanes(trace);
  std::optional<LongestPaths> finder;
  std::vector<Step> steps;
  std::vector<StepSummary> measured;
  run_both([&] { prepare_paths(trace, lanes, finder); },
           [&] {
             steps = join_ranks(find_steps(trace, lanes));
             if (summary.timed()) mark_warm_up(steps);
             measured = measure(trace, lanes, steps, summary, work);
             take_utilisation(trace, steps, summary);
             summary.memory = memory_peaks(trace, lanes);
             summary.staleness = staleness_of(trace);
             summary.kernels = kernel_times(trace);
             summary.recomputed = recomputed_kernels(trace);
             if (summary.imported) summary.recording = device_times(trace, lanes);
           });
  work.now("following the longest path");
  std::vector<LongestPath> paths(steps.size());
  if (finder) paths = finder->of(steps);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].interrupted) continue;
    if (!steps[i].is_only_a_span()) {
      take_path(paths[i], measured[i]);
      if (pieces != nullptr) (*pieces)[steps[i].number] = std::move(paths[i].pieces);
    }
    measured[i].warm_up = steps[i].warm_up;
    group_of(steps[i], summary).steps.push_back(std::move(measured[i]));
  }
  return summary;
}

}  // namespace

Summary summarize(const Trace& trace) {
  Work work;
  return summarize(trace, work, nullptr);
}

Summary summarize(const Trace& trace, Work& work, PathPieces& pieces) {
  Summary summary = summarize(trace, work, &pieces);
  if (summary.null_devices) pieces.clear();
  return summary;
}

}  // namespace lockstep::tracer
