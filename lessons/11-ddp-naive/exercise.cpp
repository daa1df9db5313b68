// Lesson 11: DistributedDataParallel's first idea. After backward every rank gets the
// mean of all ranks' gradients, one all-reduce for each parameter.
#include <map>

#include "engine/distributed/ddp/gradient_sync.h"
#include "engine/ops/ops.h"
#include "engine/runtime/device_context.h"
#include "lessons/plugin.h"
#include "tracer/record/recorder.h"

using namespace lockstep;
using namespace lockstep::distributed;

/// Each rank has a NaiveSync for its model. The DDP wrapper calls it during
/// `loss.backward()`; the optimizer is not aware of it.
class NaiveSync : public GradientSync {
 public:
  NaiveSync(Parameters parameters, ProcessGroup& group)
      : parameters_(std::move(parameters)), group_(group), divisor_(group.size()) {}

  /// Called when a parameter's gradient is ready, during the backward pass and in an
  /// order that need not be the same on all ranks. It records the time for `label`;
  /// nothing else is required here.
  void gradient_ready(size_t parameter) override {
    const auto& [name, tensor] = parameters_[parameter];
    computed_[name] = runtime::context(tensor.device()).compute().record_event();
    // [solution-ready]
    // everything else can wait until backward has finished
    // [/solution-ready]
  }

  /// Called when the backward pass has finished: every parameter's `.grad()` becomes
  /// the sum over all ranks, divided by `divisor_`. Collectives match call by call, so
  /// all ranks must reduce the same parameters in the same order: a gradient that is
  /// undefined here (`!grad.defined()`) counts as zeros, `ops::full_like(parameter,
  /// 0)`.
  ///
  ///   ops::scale(tensor, 0.5)              a new tensor: half of it
  ///   ops::contiguous(tensor)              collectives require contiguous tensors
  ///   group_.all_reduce(tensor, ReduceOp::sum, label(name))
  ///                                        in place on the comm stream; returns a Work
  ///   work.wait()                          the device goes on once the work is done
  ///   parameter.set_grad(tensor)
  void after_backward() override {
    tracer::Phase phase("all_reduce");  // shown in the trace
    for (const auto& [name, parameter] : parameters_) {
      // [solution-average]
      const Tensor grad = parameter.grad();
      const Tensor mine = grad.defined() ? grad : ops::full_like(parameter, 0);
      const Tensor mean = ops::contiguous(ops::scale(mine, 1.0 / divisor_));
      group_.all_reduce(mean, ReduceOp::sum, label(name)).wait();
      parameter.set_grad(mean);
      continue;
      // [/solution-average]
      lessons::not_written("after_backward: make this parameter's gradient the mean");
    }
  }

  /// Called when this rank has run out of batches and others have not: it takes part in
  /// the calls that they make in `after_backward`, with zeros. Its own gradients do not
  /// matter.
  void shadow_step() override {
    // [solution-shadow]
    for (const auto& [name, parameter] : parameters_) {
      const Tensor nothing = ops::full_like(parameter, 0);
      group_.all_reduce(nothing, ReduceOp::sum, label(name)).wait();
    }
    return;
    // [/solution-shadow]
    lessons::not_written("shadow_step: which calls do the other ranks make now?");
  }

  /// Sets the divisor, if it is not the number of ranks.
  void set_divisor(int divisor) override { divisor_ = divisor; }

 private:
  /// What a collective carries, and the event that it follows: the trace shows both.
  CollectiveLabel label(const std::string& name) const {
    CollectiveLabel label;
    label.tensor = name;
    label.params = {name};
    const auto computed = computed_.find(name);
    if (computed != computed_.end()) label.after = {computed->second};
    return label;
  }

  const Parameters parameters_;
  ProcessGroup& group_;
  int divisor_;
  std::map<std::string, runtime::EventPtr>
      computed_;  ///< when each parameter's gradient was computed
};

std::unique_ptr<GradientSync> make_naive(Parameters parameters, ProcessGroup& group,
                                         const ReducerOptions&) {
  return std::make_unique<NaiveSync>(std::move(parameters), group);
}

LOCKSTEP_LESSON(11) { gradient_sync_factory().plug(make_naive); }
