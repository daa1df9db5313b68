#include "tracer/analysis/summary.h"

#include <algorithm>
#include <stdexcept>

#include "tracer/analysis/spans.h"
#include "tracer/analysis/steps.h"
#include "tracer/emulate/longest_path.h"
#include "tracer/format/lanes.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

/// Finds an entry by name, or adds one at the end: order of first appearance is kept.
template <typename List, typename Name>
auto& entry(List& list, Name List::value_type::* key, const std::string& name) {
  for (auto& item : list) {
    if (item.*key == name) return item;
  }
  auto& item = list.emplace_back();
  item.*key = name;
  return item;
}

/// Collects the spans of one phase before they are measured.
struct PhaseSpans {
  std::string name;
  int64_t first = INT64_MAX;
  Spans host, device;
  std::map<int64_t, Spans> busy;
};

/// The device whose hardware runs a task; for what arrives at the host, the sender's.
int64_t worker(const Event& task, const Lanes& lanes) {
  const Lane& lane = lanes.of(task);
  return lane.is_host() ? port_arg(task.args, "src") : lane.device;
}

std::vector<NamedPhase> phase_costs(const Step& step, const Lanes& lanes) {
  std::vector<PhaseSpans> spans;
  for (const Event* phase : step.phases) {
    PhaseSpans& own = entry(spans, &PhaseSpans::name, phase->name);
    own.first = std::min(own.first, phase->ts);
    own.host.add(phase->ts, phase->end());
  }
  for (const Event* task : step.tasks) {
    const std::string name = string_arg(task->args, "phase");
    if (name.empty()) continue;
    PhaseSpans& own = entry(spans, &PhaseSpans::name, name);
    own.first = std::min(own.first, task->ts);
    own.device.add(task->ts, task->end());
    own.busy[worker(*task, lanes)].add(task->ts, task->end());
  }
  std::stable_sort(spans.begin(), spans.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<NamedPhase> phases;
  for (const PhaseSpans& own : spans) {
    NamedPhase phase{own.name, {own.host.covered(), own.device.extent(), {}}};
    for (const auto& [device, busy] : own.busy) {
      phase.cost.busy[device] = busy.covered();
    }
    phases.push_back(std::move(phase));
  }
  return phases;
}

StepSummary summarize_step(const Step& step, const Lanes& lanes) {
  StepSummary summary;
  summary.step = step.number;
  summary.batch = step.batch;
  summary.length = step.length();
  summary.phases = phase_costs(step, lanes);
  std::map<int64_t, Spans> computing;
  for (const Event* task : step.tasks) {
    if (!task->is("kernel")) continue;
    computing[worker(*task, lanes)].add(task->ts, task->end());
    const int64_t queued = duration_arg(task->args, "queued_us");
    summary.queued = add_within_range(summary.queued, queued);
    const int64_t cpu = duration_arg(task->args, "cpu_us", task->dur);
    summary.kernel_wall = add_within_range(summary.kernel_wall, task->dur);
    summary.kernel_cpu = add_within_range(summary.kernel_cpu, cpu);
  }
  summary.rank_lengths = step.rank_lengths;
  summary.collectives = collective_times(step, lanes);
  for (const auto& [device, spans] : computing) {
    summary.computing[device] = spans.covered();
  }
  return summary;
}

void sort_shares(std::vector<PathShare>& shares) {
  std::stable_sort(shares.begin(), shares.end(),
                   [](const PathShare& a, const PathShare& b) {
                     return a.nanoseconds > b.nanoseconds;
                   });
}

void take_path(const LongestPath& path, StepSummary& summary) {
  summary.path = path.path;
  for (const PathPiece& piece : path.pieces) {
    int64_t& share =
        entry(summary.path_shares, &PathShare::what, piece.what).nanoseconds;
    share = add_within_range(share, piece.nanoseconds);
  }
  sort_shares(summary.path_shares);
}

void count_bytes(const Step& step, StepGroup& group) {
  for (const Event* task : step.tasks) {
    if (!task->is("copy")) continue;
    const int64_t bytes = int_arg(task->args, "bytes");
    const auto count = [&](int64_t& sum) { sum = add_within_range(sum, bytes); };
    count(group.bytes_by_why[string_arg(task->args, "why")]);
    count(group.ports[port_arg(task->args, "src")].out);
    count(group.ports[port_arg(task->args, "dst")].in);
  }
}

std::map<int64_t, MemoryPeak> memory_peaks(const Trace& trace, const Lanes& lanes) {
  std::map<int64_t, MemoryPeak> peaks;
  for (const Event& event : trace.events) {
    if (event.ph != 'C' || event.name != "memory") continue;
    MemoryPeak now;
    for (const auto& [category, value] : event.args.items()) {
      const int64_t bytes = int_arg(event.args, category.c_str());
      now.categories[category] = bytes;
      now.total = add_within_range(now.total, bytes);
    }
    MemoryPeak& peak = peaks[lanes.of(event).device];
    if (now.total > peak.total) peak = std::move(now);
  }
  return peaks;
}

std::vector<KernelTime> kernel_times(const Trace& trace) {
  std::map<std::string, KernelTime> times;
  for (const Event& event : trace.events) {
    if (event.ph != 'X' || !event.is("kernel")) continue;
    std::string impl = string_arg(event.args, "impl");
    if (impl.empty()) impl = event.name;
    KernelTime& time = times[impl];
    time.impl = impl;
    ++time.count;
    time.wall = add_within_range(time.wall, event.dur);
    time.cpu =
        add_within_range(time.cpu, duration_arg(event.args, "cpu_us", event.dur));
  }
  std::vector<KernelTime> sorted;
  for (auto& [impl, time] : times) sorted.push_back(std::move(time));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.wall > b.wall; });
  return sorted;
}

/// A file that names a rank is that rank's alone; `trace merge` takes the name away.
void take_rank(const Trace& trace, Summary& summary) {
  const auto info = trace.other.find("distributedInfo");
  if (summary.imported || info == trace.other.end()) return;
  summary.world_size = int_arg(*info, "world_size", 1);
  if (summary.world_size > 1) summary.rank = int_arg(*info, "rank", kNone);
}

void take_devices(const Trace& trace, Summary& summary) {
  const auto found = trace.lockstep.find("devices");
  if (found == trace.lockstep.end() || !found->is_array()) return;
  summary.devices = static_cast<int64_t>(found->size());
  for (const Json& device : *found) {
    summary.null_devices |= string_arg(device, "name").rfind("null", 0) == 0;
  }
}

}  // namespace

Summary summarize(const Trace& trace) {
  Summary summary;
  summary.mode = string_arg(trace.lockstep, "mode");
  summary.arch = string_arg(trace.lockstep, "arch");
  summary.clock = string_arg(trace.lockstep, "clock");
  summary.imported = trace.lockstep.contains("imported");
  take_devices(trace, summary);
  take_rank(trace, summary);
  const auto emulation = trace.lockstep.find("emulation");
  if (emulation != trace.lockstep.end()) {
    summary.assumed = string_arg(*emulation, "assumed");
    summary.as_measured = string_arg(*emulation, "durations") == "measured";
  }

  const Lanes lanes(trace);
  const std::vector<Step> steps = join_ranks(find_steps(trace));
  std::vector<LongestPath> paths(steps.size());
  try {
    if (!summary.imported) paths = longest_paths(trace, steps);
  } catch (const std::runtime_error&) {
    // `check` reports the circle; everything else can still be said.
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].interrupted) continue;
    StepGroup& group = steps[i].train ? summary.train : summary.eval;
    group.steps.push_back(summarize_step(steps[i], lanes));
    take_path(paths[i], group.steps.back());
    count_bytes(steps[i], group);
  }
  summary.memory = memory_peaks(trace, lanes);
  summary.kernels = kernel_times(trace);
  return summary;
}

int64_t StepGroup::mean_length() const {
  int64_t total = 0;
  for (const StepSummary& step : steps) total = add_within_range(total, step.length);
  return steps.empty() ? 0 : total / static_cast<int64_t>(steps.size());
}

std::vector<NamedPhase> StepGroup::mean_phases() const {
  std::vector<NamedPhase> mean;
  const auto count = static_cast<int64_t>(steps.size());
  for (const StepSummary& step : steps) {
    for (const auto& [name, cost] : step.phases) {
      PhaseCost& sum = entry(mean, &NamedPhase::name, name).cost;
      sum.host += cost.host / count;
      sum.device += cost.device / count;
      for (const auto& [device, busy] : cost.busy) sum.busy[device] += busy / count;
    }
  }
  return mean;
}

std::vector<PathShare> StepGroup::mean_path() const {
  std::vector<PathShare> mean;
  const auto count = static_cast<int64_t>(steps.size());
  for (const StepSummary& step : steps) {
    for (const PathShare& share : step.path_shares) {
      entry(mean, &PathShare::what, share.what).nanoseconds +=
          share.nanoseconds / count;
    }
  }
  sort_shares(mean);
  return mean;
}

std::vector<MeanCollective> StepGroup::mean_collectives() const {
  std::vector<const std::vector<CollectiveTime>*> all;
  for (const StepSummary& step : steps) all.push_back(&step.collectives);
  return tracer::mean_collectives(all);
}

std::vector<MeanRank> StepGroup::mean_ranks() const {
  std::map<int64_t, MeanRank> ranks;
  const auto count = static_cast<int64_t>(steps.size());
  for (const StepSummary& step : steps) {
    for (const auto& [rank, length] : step.rank_lengths) {
      ranks[rank].length = add_within_range(ranks[rank].length, length / count);
    }
    for (const CollectiveTime& time : step.collectives) {
      CollectiveTime& sum = ranks[time.rank].together;
      sum.bytes = add_within_range(sum.bytes, time.bytes / count);
      sum.unseen = sum.unseen || time.unseen;
      for (const auto field : CollectiveTime::kTimes) {
        sum.*field = add_within_range(sum.*field, time.*field / count);
      }
    }
  }
  std::vector<MeanRank> mean;
  for (auto& [rank, of_rank] : ranks) {
    of_rank.rank = rank;
    mean.push_back(of_rank);
  }
  return mean;
}

double StepGroup::devices_computing() const {
  double computing = 0, length = 0;
  for (const StepSummary& step : steps) {
    length += static_cast<double>(step.length);
    for (const auto& [device, busy] : step.computing) {
      computing += static_cast<double>(busy);
    }
  }
  return length > 0 ? computing / length : 0;
}

}  // namespace lockstep::tracer
