#include "tracer/emulate/hardware/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "tracer/analysis/steps.h"
#include "tracer/emulate/construct/rank_program.h"
#include "tracer/emulate/construct/repeat.h"
#include "tracer/format/facts.h"
#include "tracer/format/index.h"

namespace lockstep::tracer {
namespace {

template <typename T>
T median_of(std::vector<T> values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Returns the median time of each size.
std::vector<CopyTime> by_size(const std::vector<CopyTime>& copies) {
  std::map<int64_t, std::vector<int64_t>> times;
  for (const CopyTime& copy : copies) {
    if (copy.time > 0) times[copy.bytes].push_back(copy.time);
  }
  std::vector<CopyTime> medians;
  for (const auto& [bytes, all] : times) medians.push_back({bytes, median_of(all)});
  return medians;
}

std::vector<Step> training_steps(const Trace& trace) {
  std::vector<Step> steps = find_steps(trace);
  std::erase_if(steps,
                [](const Step& step) { return !step.train || step.interrupted; });
  if (steps.empty()) throw std::runtime_error("a run has no complete training step");
  return steps;
}

/// Returns whether another copy of the step ran at the same time.
bool shares_time(const Event& copy, const Step& step) {
  return std::any_of(step.tasks.begin(), step.tasks.end(), [&](const Event* other) {
    return other != &copy && other->is(categories::copy) && other->ts < copy.end() &&
           copy.ts < other->end();
  });
}

/// Appends the copies between the host and a device, and those between devices.
void collect_copies(const Trace& trace, std::vector<CopyTime>& host,
                    std::vector<CopyTime>& device) {
  for (const Step& step : training_steps(trace)) {
    for (const Event* task : step.tasks) {
      if (!task->is(categories::copy) || shares_time(*task, step)) continue;
      const CopyFacts copy = copy_facts(*task);
      if (copy.src == copy.dst) continue;
      const bool of_host = copy.src == kHost || copy.dst == kHost;
      (of_host ? host : device).push_back({copy.known_bytes(), task->dur});
    }
  }
}

/// Returns the host's time in `replicate` without the operations in it, in µs.
double time_for_replicas(const Trace& trace) {
  std::vector<double> times;
  for (const Step& step : training_steps(trace)) {
    for (const Event* phase : step.phases) {
      if (phase->name != phases::replicate) continue;
      int64_t own = phase->dur, covered = phase->ts;
      for (const Event& event : trace.events) {  // sorted: an outer one comes first
        if (event.ph != 'X' || !is_inside(event, *phase)) continue;
        if (!event.is(categories::op) && !event.is(categories::sync)) continue;
        if (event.end() <= covered) continue;
        own -= event.end() - std::max(event.ts, covered);
        covered = event.end();
      }
      times.push_back(static_cast<double>(own) / 1e3);
    }
  }
  if (times.empty()) {
    throw std::runtime_error("a run of DataParallel has no phase `replicate`");
  }
  return median_of(times);
}

/// Returns the host's own time of a module's call, in µs: of `X.__call__`,
/// `Module._call_impl` and `X.forward` without what is in them. Medians, since the
/// thread may have been interrupted in some of them.
double time_of_module(const RecordedStep& step) {
  std::map<std::string, std::map<int64_t, int64_t>> own;  // by name's end, then id
  LaneMap<std::vector<const Event*>> open;
  const auto part_of = [](const Event& call) {
    const std::string_view name = call.name.view();
    return std::string(name.substr(name.rfind('.') + 1));
  };
  for (const Event& event : step.events) {
    if (event.ph != 'X' || is_task(event)) continue;
    std::vector<const Event*>& around = open[lane_of(event)];
    while (!around.empty() && around.back()->end() <= event.ts) around.pop_back();
    if (!around.empty() && around.back()->is(categories::call)) {
      own[part_of(*around.back())][around.back()->id] -= event.dur;
    }
    if (event.is(categories::call)) own[part_of(event)][event.id] += event.dur;
    around.push_back(&event);
  }
  double sum = 0;
  for (const char* part : {"__call__", "_call_impl", "forward"}) {
    std::vector<int64_t> all;
    for (const auto& [id, time] : own[part]) all.push_back(time);
    sum += static_cast<double>(median_of(all)) / 1e3;
  }
  return sum;
}

/// The kernels of one operation in a training step.
struct OperationKernels {
  double time = 0;  ///< of one kernel, in ns
  double step = 0;  ///< of all of them
};

/// Returns the kernels of a step, by operation.
std::map<std::string, std::vector<double>> kernels_of(const Step& step,
                                                      const Index& index) {
  std::map<std::string, std::vector<double>> kernels;
  for (const Event* task : step.tasks) {
    const Event* op = task->is(categories::kernel) ? index.find(task->op) : nullptr;
    if (op == nullptr) continue;
    kernels[op->name.str()].push_back(static_cast<double>(task->dur));
  }
  return kernels;
}

/// Returns the kernels of each operation: medians over the runs' training steps.
std::map<std::string, OperationKernels> kernels_by_operation(
    const std::vector<Trace>& runs) {
  std::map<std::string, std::vector<double>> times, sums;
  for (const Trace& run : runs) {
    const Index index(run);
    for (const Step& step : training_steps(run)) {
      for (const auto& [op, kernels] : kernels_of(step, index)) {
        const double sum = std::accumulate(kernels.begin(), kernels.end(), 0.0);
        times[op].push_back(sum / static_cast<double>(kernels.size()));
        sums[op].push_back(sum);
      }
    }
  }
  std::map<std::string, OperationKernels> result;
  for (const auto& [op, of_op] : times) {
    result[op] = {median_of(of_op), median_of(sums[op])};
  }
  return result;
}

Contention contention_of(const CalibrationRuns& runs) {
  const auto alone = kernels_by_operation(runs.alone);
  const auto shared = kernels_by_operation(runs.together);
  double all_alone = 0, all_shared = 0;
  std::map<std::string, double> slowdowns;
  for (const auto& [op, kernels] : alone) {
    const auto found = shared.find(op);
    if (found == shared.end() || kernels.time <= 0) continue;
    slowdowns[op] = std::max(1.0, found->second.time / kernels.time);
    all_alone += kernels.step;
    all_shared += kernels.step * found->second.time / kernels.time;
  }
  std::erase_if(slowdowns, [&](const auto& slowdown) {
    return alone.at(slowdown.first).step < 1e-3 * all_alone;
  });
  const double slowdown = all_alone > 0 ? std::max(1.0, all_shared / all_alone) : 1;
  return {slowdown, std::move(slowdowns), {}};
}

/// Returns the rates of the kernels that DataParallel adds to a step of one device, of
/// at least 1 MB, without their contention.
std::map<std::string, double> memory_rates(const Trace& dp,
                                           const Contention& contention) {
  constexpr int64_t kLarge = 1'000'000;
  const Index index(dp);
  std::map<std::string, std::vector<double>> rates;
  for (const Step& step : training_steps(dp)) {
    for (const Event* task : step.tasks) {
      if (!task->is(categories::kernel)) continue;
      const KernelFacts kernel = kernel_facts(*task);
      const bool added =
          kernel.phase == phases::reduce ||
          (kernel.phase == phases::replicate && task->name == "flatten_many");
      const int64_t bytes = int_arg(task->args, keys::bytes);
      if (!added || bytes < kLarge || kernel.cpu <= 0) continue;
      const Event* op = index.find(task->op);
      const auto slower = op == nullptr ? contention.by_operation.end()
                                        : contention.by_operation.find(op->name.str());
      const double factor = slower == contention.by_operation.end()
                                ? contention.slowdown
                                : slower->second;
      rates[std::string(kernel.phase) + " " + task->name.str()].push_back(
          factor * static_cast<double>(bytes) / static_cast<double>(kernel.cpu));
    }
  }
  std::map<std::string, double> medians;
  for (auto& [kernel, all] : rates) medians[kernel] = median_of(std::move(all));
  return medians;
}

Json link_json(const FittedLink& link, double links, const std::string& source) {
  return {{"class", "pcie"},
          {"gb_per_s", link.gb_per_s},
          {"latency_us", link.latency_us / links},
          {"source", fmt::format("{}: {} copies, median error of the line {:.0f} %",
                                 source, link.copies, 100 * link.error)}};
}

}  // namespace

FittedLink fit_link(const std::vector<CopyTime>& copies, const std::string& what) {
  const std::vector<CopyTime> sizes = by_size(copies);
  double w = 0, wb = 0, wbb = 0, wt = 0, wbt = 0;  // weighted by 1 / time
  for (const CopyTime& size : sizes) {
    const auto t = static_cast<double>(size.time), b = static_cast<double>(size.bytes);
    const double weight = 1 / t;
    w += weight, wb += weight * b, wbb += weight * b * b;
    wt += weight * t, wbt += weight * b * t;
  }
  const double spread = w * wbb - wb * wb;
  double latency = (wbb * wt - wb * wbt) / spread, slope = (w * wbt - wb * wt) / spread;
  if (latency < 0) latency = 0, slope = wbt / wbb;
  if (sizes.size() < 2 || !(slope > 0)) {
    throw std::runtime_error(fmt::format(
        "{}: the times of {} sizes of copies show no bandwidth; fix: calibrate on "
        "devices that copy, while nothing else runs",
        what, sizes.size()));
  }
  FittedLink link{latency / 1e3, 1 / slope, copies.size(), 0};
  std::vector<double> errors;
  for (const CopyTime& size : sizes) {
    const auto t = static_cast<double>(size.time);
    const double line = latency + slope * static_cast<double>(size.bytes);
    errors.push_back(std::abs(line - t) / t);
  }
  link.error = median_of(errors);
  return link;
}

Calibration calibrate(const CalibrationRuns& runs) {
  const Trace& one = runs.alone.at(0);
  const RecordedStep step = recorded_step(one);
  Calibration result;
  result.device_type = device_type(one.lockstep);
  result.arch = string_arg(one.lockstep, top::arch);
  result.batch = step.batch;
  result.parameters = step.parameters.size();
  result.launch_us = static_cast<double>(added_costs(step, nullptr).launch) / 1e3;
  result.module_us = time_of_module(step);
  for (const Event& event : step.events) {
    if (!event.is(categories::kernel)) continue;
    const KernelFacts kernel = kernel_facts(event);
    result.device_ms[std::string(kernel.phase)] +=
        static_cast<double>(kernel.cpu) / 1e6;
  }
  std::vector<CopyTime> host, device;
  // Three devices may have more threads than the machine has cores.
  for (const Trace* trace : {&one, &runs.two}) collect_copies(*trace, host, device);
  result.host_link = fit_link(host, "between the host and a device");
  result.device_link = fit_link(device, "between devices");
  const double second = time_for_replicas(runs.two);
  const double third = time_for_replicas(runs.three);
  const auto count = static_cast<double>(std::max<size_t>(1, result.parameters));
  result.replica_us_per_parameter = std::max(0.0, third - second) / count;
  result.replicate_us_per_parameter =
      std::max(0.0, second / count - result.replica_us_per_parameter);
  result.contention = contention_of(runs);
  result.memory_gb_per_s = memory_rates(runs.two, result.contention);
  return result;
}

Json profile_of(const Calibration& c, const std::string& name, int devices,
                const std::string& source) {
  // A copy between devices takes two links, one into the switch and one out of it.
  Json peer = link_json(c.device_link, 2, source);
  Json host = link_json(c.host_link, 1, source);
  host["peer_to_peer"] = false;
  return {
      {"name", name},
      {"description",
       fmt::format("{} {} devices, as calibrated; how copies slow each other down was "
                   "not measured: each device sends and receives at the full rate",
                   devices, c.device_type)},
      {"source", source},
      {"links", {{"device-copy", peer}, {"host-copy", host}}},
      {"machine",
       {{"devices", devices},
        {"wires",
         {{{"from", {"gpu*"}}, {"to", {"switch0"}}, {"link", "device-copy"}},
          {{"from", {"gpu*"}}, {"to", {"host"}}, {"link", "host-copy"}}}}}},
      {"host",
       {{"replica_us_per_parameter", c.replica_us_per_parameter},
        {"replicate_us_per_parameter", c.replicate_us_per_parameter},
        {"launch_us", c.launch_us},
        {"module_us", c.module_us},
        {"source", source}}},
      {"memory",
       {{"gb_per_s", Json(c.memory_gb_per_s)},
        {"source", source + "; DataParallel on two"}}},
      {"contention",
       {{"slowdown", c.contention.slowdown},
        {"by_operation", Json(c.contention.by_operation)},
        {"source",
         source + "; DistributedDataParallel on two, in turns with runs on one"}}},
      {"device",
       {{"arch", c.arch},
        {"batch", c.batch},
        {"kernel_ms", c.device_ms},
        {"source", source}}},
      {"collectives", "ring"}};
}

}  // namespace lockstep::tracer
