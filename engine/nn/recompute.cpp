#include "engine/nn/recompute.h"

#include <algorithm>
#include <utility>

#include "engine/autograd/engine.h"
#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"

namespace lockstep::nn {
namespace {

/// Sets how many dropout masks a device has drawn, until destroyed.
class DropoutCalls {
 public:
  DropoutCalls(Device device, uint64_t calls)
      : device_(device), outer_(ops::dropout_calls(device)) {
    ops::set_dropout_calls(device, calls);
  }
  ~DropoutCalls() { ops::set_dropout_calls(device_, outer_); }

 private:
  Device device_;
  uint64_t outer_;
};

/// Appends the parameters in the order in which a backward pass completes their
/// gradients: layer by layer, last one first.
void append_parameters(const Module& module, Tensors& all) {
  const auto& children = module.children();
  for (auto child = children.rbegin(); child != children.rend(); ++child) {
    append_parameters(*child->value, all);
  }
  if (!children.empty()) return;
  for (const Tensor& parameter : module.parameters()) all.push_back(parameter);
}

/// Runs the module again, then backward from `grad`. Returns the gradients of the input
/// and of the parameters.
Tensors run_again(Module& module, const Tensor& input, const Tensors& parameters,
                  Tensor grad) {
  Tensors leaves{input.detach()};
  leaves[0].set_requires_grad(true);
  leaves.insert(leaves.end(), parameters.begin(), parameters.end());
  std::vector<autograd::Edge> ends;
  for (const Tensor& leaf : leaves) ends.push_back(autograd::gradient_edge(leaf));
  Tensor output;
  {
    const autograd::GradMode tape(true);
    const CategoryScope category(MemoryCategory::activations);
    output = module(leaves[0]);
  }
  return autograd::walk_to(ends, autograd::gradient_edge(output), std::move(grad));
}

}  // namespace

Tensor checkpoint(const ModulePtr& module, const Tensor& input,
                  std::source_location site) {
  Tensors inputs{input};
  append_parameters(*module, inputs);
  if (!autograd::needs_history(inputs)) return (*module)(input, site);
  const ops::OpEvent event("CheckpointFunction", {input}, site);
  const uint64_t calls = ops::dropout_calls(input.device());
  Tensor output;
  {
    const autograd::NoGrad no_tape;
    output = (*module)(input).detach();
  }
  const Tensors parameters(inputs.begin() + 1, inputs.end());
  autograd::set_history(
      "CheckpointFunctionBackward", inputs, {output}, event.id(),
      [module, parameters, calls, saved = input.detach()](Tensors grads) {
        const DropoutCalls same(saved.device(), calls);
        return run_again(*module, saved, parameters, std::move(grads[0]));
      });
  return output;
}

int recompute_blocks(Module& model) {
  int blocks = 0;
  for (const auto& [name, child] : model.children()) {
    if (child->is_block()) {
      child->set_recomputed(true);
      ++blocks;
    } else {
      blocks += recompute_blocks(*child);
    }
  }
  return blocks;
}

}  // namespace lockstep::nn
