// Traces of pipelines, made from a schedule and the costs of its passes.
#pragma once

#include <map>
#include <set>
#include <tuple>

#include "engine/plan/pipeline_times.h"
#include "tracer/analysis/pipeline.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer::testing {

/// What a made trace contains, besides the passes. Times in ns.
struct MadePipeline {
  std::string schedule = "1f1b";
  int64_t unit = 1000;     ///< of the costs
  int64_t launch = 20;     ///< the host takes this long for each pass
  int64_t queued = 0;      ///< each pass waits this long for a core
  bool with_bytes = true;  ///< memory counters
  int kernels = 1;         ///< of each pass, without time in between
};

/// Builds the trace of one step: the host launches all passes, in the order in which
/// they start, before the devices begin.
class PipelineMaker {
 public:
  PipelineMaker(const plan::PipelineSchedule& schedule,
                const plan::PipelineCosts& costs, const MadePipeline& options)
      : options_(options),
        costs_(costs),
        times_(plan::pipeline_times(schedule, costs).value()) {
    for (size_t rank = 0; rank < schedule.size(); ++rank) {
      for (const auto& action : schedule[rank]) {
        device_of_[action.stage] = static_cast<int64_t>(rank);
        micro_batches_.insert(action.micro_batch);
      }
    }
  }

  Trace trace() {
    std::map<std::tuple<double, size_t, size_t>, const plan::TimedAction*> by_start;
    for (size_t rank = 0; rank < times_.size(); ++rank) {
      for (size_t i = 0; i < times_[rank].size(); ++i) {
        by_start[{times_[rank][i].start, rank, i}] = &times_[rank][i];
      }
    }
    origin_ = options_.launch * (static_cast<int64_t>(by_start.size()) + 1);
    add_header();
    add("phase", "step", 0, 0, 0, 0);  // its duration is set below
    int64_t ts = options_.launch;
    for (const auto& [key, action] : by_start) {
      add_pass(*action, ts);
      ts += options_.launch;
    }
    wait_for_devices(ts);
    describe_step();
    sort_events(trace_.events);
    return std::move(trace_);
  }

 private:
  int64_t in_ns(double time) const {
    return static_cast<int64_t>(time * static_cast<double>(options_.unit) + 0.5);
  }

  Event& add(const char* cat, const std::string& name, int64_t pid, int64_t tid,
             int64_t ts, int64_t dur, Json args = Json::object()) {
    Event& event = trace_.events.emplace_back();
    event.cat = cat, event.name = name;
    event.pid = pid, event.tid = tid, event.ts = ts, event.dur = dur;
    event.id = ++last_id_;
    event.step = 0;
    event.args = Args(std::move(args));
    return event;
  }

  void add_header() {
    Json devices = Json::array();
    for (size_t i = 0; i < times_.size(); ++i) {
      devices.push_back({{"id", i}, {"name", "cpu:" + std::to_string(i)}, {"rank", 0}});
      for (int64_t stream : {0, 1}) {
        Event name;
        name.ph = 'M', name.name = names::thread_name;
        name.pid = static_cast<int64_t>(i) + 1, name.tid = stream;
        name.args = {{"name", stream == 0 ? "compute" : "copy"},
                     {"rank", 0},
                     {"device", i},
                     {"stream", stream}};
        trace_.events.push_back(name);
      }
    }
    for (size_t pid = 0; pid <= times_.size(); ++pid) {
      Event process;
      process.ph = 'M', process.name = names::process_name;
      process.pid = static_cast<int64_t>(pid);
      process.args = {{"name", pid == 0 ? "host" : "cpu:" + std::to_string(pid - 1)}};
      trace_.events.push_back(process);
    }
    Event host;
    host.ph = 'M', host.name = names::thread_name;
    host.args = {{"name", "main"}, {"rank", 0}};
    trace_.events.push_back(host);
    trace_.lockstep = {{"format", 1},
                       {"clock", "measured"},
                       {"mode", "model-parallel"},
                       {"arch", "resnet18"},
                       {"model", {{"parameter_bytes", 0}, {"buffer_bytes", 0}}},
                       {"devices", devices}};
  }

  /// The host waits until the last kernel of each device has ended.
  void wait_for_devices(int64_t ts) {
    const int64_t end = origin_ + in_ns(plan::makespan(times_));
    Event& sync = add("sync", "synchronize", 0, 0, ts, end - ts);
    for (const auto& [device, kernel] : last_kernel_) sync.waits_for.push_back(kernel);
  }

  void describe_step() {
    Json devices = Json::array();
    for (const auto& [stage, device] : device_of_) devices.push_back(device);
    for (Event& event : trace_.events) {
      if (event.name != names::step) continue;
      event.dur = origin_ + in_ns(plan::makespan(times_));
      event.args = {{"kind", "train"},
                    {"batch", 32},
                    {"schedule", options_.schedule},
                    {"micro_batches", micro_batches_.size()},
                    {"stage_devices", devices}};
    }
  }

  void add_pass(const plan::TimedAction& timed, int64_t ts) {
    const plan::PipelineAction& action = timed.action;
    const bool forward = action.op == plan::PipelineOp::forward;
    const int64_t device = device_of_.at(action.stage);
    add("phase", forward ? "forward" : "backward", 0, 0, ts, options_.launch - 2,
        {{"action", plan::to_text(action)},
         {"stage", action.stage},
         {"micro_batch", action.micro_batch}});
    const int64_t op = add("op", "aten::conv2d", 0, 0, ts + 1, 2).id;
    const int64_t begin = origin_ + in_ns(timed.start) + options_.queued;
    const int64_t end = origin_ + in_ns(timed.end);
    for (int i = 0; i < options_.kernels; ++i) {
      const int64_t from = begin + (end - begin) * i / options_.kernels;
      const int64_t to = begin + (end - begin) * (i + 1) / options_.kernels;
      Json args = {{"rank", 0},
                   {"device", device},
                   {"stream", 0},
                   {"phase", forward ? "forward" : "backward"}};
      if (i == 0 && options_.queued > 0) {
        args["queued_us"] = static_cast<double>(options_.queued) / 1000;
      }
      Event& kernel = add("kernel", "conv2d", device + 1, 0, from, to - from, args);
      kernel.op = op;
      if (const auto input = sent_.find({forward, action.stage, action.micro_batch});
          i == 0 && action.op != plan::PipelineOp::weight_backward &&
          input != sent_.end()) {
        kernel.deps = {input->second};
      }
      last_kernel_[device] = kernel.id;
    }
    send(action, device, end, op);
    if (options_.with_bytes) count_bytes(action, device, ts);
  }

  void send(const plan::PipelineAction& action, int64_t from, int64_t ts, int64_t op) {
    const bool forward = action.op == plan::PipelineOp::forward;
    if (action.op == plan::PipelineOp::weight_backward) return;
    const int stage = action.stage + (forward ? 1 : -1);
    const auto to = device_of_.find(stage);
    if (to == device_of_.end()) return;
    int64_t& sent = sent_[{forward, stage, action.micro_batch}];
    sent = last_kernel_.at(from);
    if (to->second == from || costs_.latency == 0) return;
    Event& copy = add("copy", "to", to->second + 1, 1, ts, in_ns(costs_.latency),
                      {{"rank", 0},
                       {"device", to->second},
                       {"stream", 1},
                       {"why", forward ? "activation" : "activation_grad"},
                       {"stage", stage},
                       {"micro_batch", action.micro_batch},
                       {"src", from},
                       {"dst", to->second},
                       {"phase", forward ? "forward" : "backward"},
                       {"bytes", 1'048'576}});
    copy.op = op;
    copy.deps = {sent};
    sent = copy.id;
  }

  void count_bytes(const plan::PipelineAction& action, int64_t device, int64_t ts) {
    const bool ends = action.op == plan::PipelineOp::backward ||
                      action.op == plan::PipelineOp::weight_backward;
    if (action.op == plan::PipelineOp::input_backward) return;
    live_[device] += ends ? -1'000'000 : 1'000'000;
    Event& counter = trace_.events.emplace_back();
    counter.ph = 'C', counter.cat = "memory", counter.name = names::memory;
    counter.pid = device + 1, counter.ts = ts + 1;
    counter.args = {{"activations", live_[device]}};
  }

  const MadePipeline options_;
  const plan::PipelineCosts costs_;
  const std::vector<std::vector<plan::TimedAction>> times_;
  std::map<int, int64_t> device_of_;  ///< stage → device
  std::set<int> micro_batches_;
  std::map<int64_t, int64_t> live_, last_kernel_;  ///< by device
  /// By direction, receiving stage and micro-batch: the task that ends when it is
  /// there.
  std::map<std::tuple<bool, int, int>, int64_t> sent_;
  int64_t origin_ = 0, last_id_ = 0;
  Trace trace_;
};

inline Trace made_pipeline(const plan::PipelineSchedule& schedule,
                           const plan::PipelineCosts& costs,
                           const MadePipeline& options = {}) {
  return PipelineMaker(schedule, costs, options).trace();
}

/// Costs in units: forward 1 and backward 2 for each stage.
inline plan::PipelineCosts one_and_two(size_t stages, double latency = 0) {
  return {std::vector<double>(stages, 1), std::vector<double>(stages, 2), 0.5, latency};
}

/// Two stages, one micro-batch: 0F0 at 0, 1F0 at 1, 1B0 at 2, 0B0 at 4 units.
inline Trace two_stages() {
  return made_pipeline(plan::pipeline_schedule(plan::PipelineOrder::gpipe, 2, 1),
                       one_and_two(2));
}

/// Returns the grid of the first step, or nullptr.
inline std::shared_ptr<const Pipeline> grid_of(const Trace& trace) {
  const Lanes lanes(trace);
  const PipelineReader reader(trace, lanes);
  const auto steps = join_ranks(find_steps(trace, lanes));
  if (steps.empty()) return nullptr;
  std::vector<DevicePieces> pieces = Splitter(trace, lanes).pieces(steps[0]);
  return reader.of(steps[0], pieces);
}

}  // namespace lockstep::tracer::testing
