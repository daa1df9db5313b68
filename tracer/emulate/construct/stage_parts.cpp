#include "tracer/emulate/construct/stage_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <unordered_map>

#include "tracer/format/facts.h"

namespace lockstep::tracer {
namespace {

std::string_view module_of(const Event& event) {
  return event.is(categories::call) ? text_arg(event.args, keys::module)
                                    : std::string_view();
}

/// Returns the model's own modules, in the order of their calls.
std::vector<std::string> called_modules(const ReplicaStep& step) {
  std::vector<std::string> modules;
  for (const Event* event : step.model) {
    const std::string name(module_of(*event));
    if (name.empty() || name.find('.') != name.npos) continue;
    if (modules.empty() || modules.back() != name) modules.push_back(name);
  }
  return modules;
}

[[noreturn]] void refuse_cut(const ReplicaStep& step, const std::string& cut,
                             const std::string& why) {
  std::vector<std::string> modules = called_modules(step);
  if (!modules.empty()) modules.erase(modules.begin());  // nothing is before it
  throw std::runtime_error(
      fmt::format("--split: '{}' {}; fix: cut before a module that the recorded step "
                  "calls, such as {}",
                  cut, why, fmt::join(modules, ", ")));
}

/// Returns the calls with which the stages after the first begin.
std::vector<const Event*> first_calls(const ReplicaStep& step,
                                      const std::vector<std::string>& cuts) {
  std::vector<const Event*> calls;
  for (const std::string& cut : cuts) {
    const auto call =
        std::find_if(step.model.begin(), step.model.end(),
                     [&](const Event* event) { return module_of(*event) == cut; });
    if (call == step.model.end()) refuse_cut(step, cut, "was not called");
    if (!calls.empty() && (*call)->ts <= calls.back()->ts) {
      refuse_cut(step, cut, "is not called after " + cuts[calls.size() - 1]);
    }
    calls.push_back(*call);
  }
  return calls;
}

/// The operations of each stage's forward pass.
class StagesOfOps {
 public:
  explicit StagesOfOps(const std::vector<StagePart>& stages)
      : last_(stages.size() - 1) {
    for (size_t stage = 0; stage < stages.size(); ++stage) {
      for (const Event* event : stages[stage].forward) forward_[event->id] = stage;
    }
  }

  /// Returns the stage of the next node of the backward pass.
  size_t next(const BackwardNode& node) {
    const size_t stage = find(node);
    backward_[node.op->id] = stage;
    last_ = stage;
    return stage;
  }

 private:
  size_t find(const BackwardNode& node) const {
    if (const auto found = forward_.find(node.op->fwd); found != forward_.end()) {
      return found->second;
    }
    // A gradient's node waits for the one that made it; others follow their own.
    for (const int64_t id : node.wait == nullptr ? IdList() : node.wait->waits_for) {
      const auto found = backward_.find(id);
      if (node.op->name == "AccumulateGrad" && found != backward_.end()) {
        return found->second;
      }
    }
    return last_;
  }

  std::unordered_map<int64_t, size_t> forward_, backward_;  ///< by op
  size_t last_;
};

}  // namespace

std::vector<StagePart> stage_parts(const ReplicaStep& step,
                                   const std::vector<std::string>& cuts) {
  const std::vector<const Event*> calls = first_calls(step, cuts);
  std::vector<StagePart> stages(cuts.size() + 1);
  for (const Event* event : step.model) {
    size_t stage = 0;
    while (stage < calls.size() && event->ts >= calls[stage]->ts) ++stage;
    // What spans a cut is not called.
    if (stage < calls.size() && event->end() > calls[stage]->ts) continue;
    stages[stage].forward.push_back(event);
  }
  for (size_t i = 0; i < stages.size(); ++i) {
    if (stages[i].forward.empty()) {
      refuse_cut(step, cuts[i == 0 ? 0 : i - 1], "leaves a stage without work");
    }
    if (i == 0) continue;
    const Json shapes = calls[i - 1]->args.find(keys::shapes).json();
    if (shapes.is_array() && !shapes.empty()) {
      stages[i].input_shape = shapes[0].get<std::vector<int64_t>>();
    }
  }
  StagesOfOps ops(stages);
  std::map<std::string_view, size_t> indices;
  for (size_t i = 0; i < step.step->parameters.size(); ++i) {
    indices.emplace(step.step->parameters[i].name, i);
  }
  for (const BackwardNode& node : step.thread) {
    StagePart& stage = stages[ops.next(node)];
    stage.backward.push_back(node);
    for (const Event* event : node.events) {
      if (event->name != names::grad_hook) continue;
      stage.parameters.push_back(indices.at(text_arg(event->args, keys::param)));
    }
  }
  for (StagePart& stage : stages) std::ranges::sort(stage.parameters);
  return stages;
}

}  // namespace lockstep::tracer
