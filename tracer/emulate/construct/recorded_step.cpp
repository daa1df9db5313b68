#include "tracer/emulate/construct/recorded_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "tracer/analysis/steps.h"
#include "tracer/format/facts.h"

namespace lockstep::tracer {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw std::runtime_error(
      "a program is constructed from a recorded step of one device, but " + what +
      "; fix: record one with `train --mode single --trace FILE`");
}

void require_single_device(const Trace& trace) {
  const std::string mode = string_arg(trace.lockstep, top::mode);
  if (trace.lockstep.contains(top::imported)) refuse("this trace is an import");
  if (mode != "single") refuse(fmt::format("this trace is of mode {}", mode));
  if (string_arg(trace.lockstep, top::clock) == values::emulated) {
    refuse("this trace is emulated");
  }
}

bool is_whole(const Step& step) {
  return step.train && !step.interrupted && step.has_phase(phases::forward) &&
         step.has_phase(phases::backward) && step.has_phase(phases::optimizer);
}

/// Leaves out steps in which the host planned kernels (engine/backends/backend.cpp), as
/// the first one of a run, unless there are no others: later steps do not do so.
void leave_out_planning(std::vector<Step>& steps, const Trace& trace) {
  std::set<int64_t> planning;
  for (const Event& event : trace.events) {
    if (event.name == "lockstep::create_plan") planning.insert(event.step);
  }
  const auto plans = [&](const Step& step) { return planning.contains(step.number); };
  if (!std::all_of(steps.begin(), steps.end(), plans)) std::erase_if(steps, plans);
}

Step median_step(const Trace& trace) {
  std::vector<Step> steps = find_steps(trace);
  std::erase_if(steps, [](const Step& step) { return !is_whole(step); });
  if (steps.empty()) refuse("this trace has no complete training step");
  leave_out_planning(steps, trace);
  const auto middle = steps.begin() + static_cast<int64_t>((steps.size() - 1) / 2);
  std::nth_element(
      steps.begin(), middle, steps.end(),
      [](const Step& a, const Step& b) { return a.length() < b.length(); });
  return *middle;
}

/// Kernels of devices of type `null` have no CPU time: nothing was computed.
void require_computing(const Step& step) {
  for (const Event* task : step.tasks) {
    if (computes(*task) && duration_arg(task->args, keys::cpu_us, task->dur) > 0)
      return;
  }
  refuse("its kernels computed nothing");
}

/// Memory counters are left out: allocations are not part of a constructed program.
bool belongs(const Event& event, const Step& step) {
  return event.step == step.number && event.ph != 'C' && event.ph != 'M' &&
         event.ph != 's' && event.ph != 'f' && !runs_ahead(event);
}

void forget_missing(std::vector<Event>& events) {
  std::set<int64_t> there;
  for (const Event& event : events) there.insert(event.id);
  const auto missing = [&](int64_t id) { return !there.contains(id); };
  for (Event& event : events) {
    erase_if(event.deps, missing);
    erase_if(event.waits_for, missing);
    if (missing(event.parent)) event.parent = kNone;
  }
}

std::vector<ModelTensor> tensors_of(const Trace& trace, std::string_view kind) {
  std::vector<ModelTensor> tensors;
  const Json model = trace.lockstep.value(top::model, Json::object());
  for (const Json& tensor : model.value("tensors", Json::array())) {
    if (tensor.value("kind", "") != kind) continue;
    ModelTensor found{tensor.value("name", ""), tensor.value("dtype", ""),
                      tensor.value("shape", std::vector<int64_t>()), 1, 0};
    for (const int64_t extent : found.shape) found.numel *= extent;
    const bool wide = found.dtype == "float64" || found.dtype == "int64";
    found.bytes = found.numel * (wide ? 8 : 4);
    tensors.push_back(std::move(found));
  }
  return tensors;
}

std::vector<ReadyGradient> ready_order(const RecordedStep& step) {
  std::map<std::string_view, size_t> indices;
  for (size_t i = 0; i < step.parameters.size(); ++i) {
    indices.emplace(step.parameters[i].name, i);
  }
  std::vector<ReadyGradient> order;
  for (const Event& event : step.events) {
    if (event.ph != 'i' || event.name != names::grad_hook) continue;
    const auto found = indices.find(text_arg(event.args, keys::param));
    if (found == indices.end()) continue;
    order.push_back({found->second, event.ts, lane_of(event)});
    indices.erase(found);
  }
  if (!indices.empty()) {
    refuse(fmt::format("its step made no gradient for {}", indices.begin()->first));
  }
  return order;
}

}  // namespace

const Event& find_phase(const RecordedStep& step, const char* name) {
  return *std::find_if(step.events.begin(), step.events.end(), [&](const Event& event) {
    return event.ph == 'X' && event.is(categories::phase) && event.name == name;
  });
}

const Event& end_of_backward(const RecordedStep& step) {
  const Event& backward = find_phase(step, phases::backward);
  const Event* found = nullptr;
  for (const Event& event : step.events) {
    const bool inside = event.ts >= backward.ts && event.end() <= backward.end();
    if (inside && event.is(categories::sync) &&
        text_arg(event.args, keys::why) == reasons::join) {
      found = &event;
    }
  }
  if (found != nullptr) return *found;
  throw std::runtime_error(
      "the recorded step does not wait for its backward pass; fix: record it again");
}

RecordedStep recorded_step(const Trace& trace) {
  require_single_device(trace);
  const Step chosen = median_step(trace);
  require_computing(chosen);
  RecordedStep step;
  step.number = chosen.number;
  step.batch = chosen.batch;
  step.begin = chosen.begin;
  for (const Event& event : trace.events) {
    if (event.ph == 'M') step.metadata.push_back(event);
    if (!belongs(event, chosen)) continue;
    Event& kept = step.events.emplace_back(event);
    kept.ts -= chosen.begin;
    for (const char* counters : {keys::memory_counters, keys::src_memory_counters}) {
      if (kept.args.contains(counters)) kept.args.erase(counters);
    }
  }
  forget_missing(step.events);
  step.parameters = tensors_of(trace, "parameter");
  step.buffers = tensors_of(trace, "buffer");
  step.ready = ready_order(step);
  return step;
}

}  // namespace lockstep::tracer
