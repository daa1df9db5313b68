#include "tracer/emulate/construct/recorded_parts.h"

#include <functional>
#include <numeric>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "tracer/emulate/construct/recorded_batches.h"
#include "tracer/emulate/construct/stage_parts.h"
#include "tracer/format/facts.h"

namespace lockstep::tracer {
namespace {

std::string outer_of(const std::string& module) {
  const size_t dot = module.rfind('.');
  return dot == module.npos ? "" : module.substr(0, dot);
}

/// Returns the names of the smallest parts. Each must be called once: then a stage can
/// begin there.
std::vector<std::string> smallest_parts(const ReplicaStep& step) {
  std::set<std::string> divided{""};  // the network, and Sequentials in Sequentials
  std::vector<std::string> parts;
  for (const Event* event : step.model) {
    if (!event->is(categories::call)) continue;
    const std::string module(text_arg(event->args, keys::module));
    if (module.empty() || !divided.contains(outer_of(module))) continue;
    if (event->name.view() == "Sequential.__call__") divided.insert(module);
    if (divided.contains(module)) continue;
    if (parts.empty() || parts.back() != module) parts.push_back(module);
  }
  return parts;
}

/// The time of the kernels that each operation launched.
class KernelTimes {
 public:
  explicit KernelTimes(const RecordedStep& step) {
    for (const Event& event : step.events) {
      if (event.is(categories::kernel)) times_[event.op] += kernel_facts(event).cpu;
    }
  }

  int64_t of(const Event& op) const {
    const auto found = times_.find(op.id);
    return found == times_.end() ? 0 : found->second;
  }

 private:
  std::unordered_map<int64_t, int64_t> times_;
};

}  // namespace

std::vector<RecordedPart> recorded_parts(const Trace& trace,
                                         const std::vector<const Trace*>& further,
                                         int64_t micro_batch) {
  const RecordedStep recorded = micro_batch == 0
                                    ? recorded_step(trace)
                                    : step_with_batch(trace, further, micro_batch);
  const ReplicaStep step(recorded);
  const std::vector<std::string> names = smallest_parts(step);
  if (names.empty()) return {};
  const auto stages = stage_parts(step, {names.begin() + 1, names.end()});
  const KernelTimes times(recorded);
  std::unordered_set<int64_t> of_loss;
  for (const BackwardNode& node : step.loss) of_loss.insert(node.op->id);
  const ModelTensor& any = recorded.parameters.at(0);

  std::vector<RecordedPart> parts;
  for (size_t i = 0; i < stages.size(); ++i) {
    RecordedPart& part = parts.emplace_back(RecordedPart{names[i]});
    for (const Event* event : stages[i].forward) part.forward_ns += times.of(*event);
    for (const BackwardNode& node : stages[i].backward) {
      if (of_loss.contains(node.op->id)) continue;
      for (const Event* event : node.events) part.backward_ns += times.of(*event);
    }
    if (i == 0) continue;
    const std::vector<int64_t>& shape = stages[i].input_shape;
    parts[i - 1].output_bytes = std::accumulate(
        shape.begin(), shape.end(), any.bytes / any.numel, std::multiplies<>());
  }
  return parts;
}

}  // namespace lockstep::tracer
