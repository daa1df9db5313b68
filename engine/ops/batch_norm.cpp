// batch_norm: y = (x − mean) / sqrt(var + eps) · weight + bias, per channel.
#include "engine/ops/checks.h"
#include "engine/ops/fusions.h"
#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"

namespace lockstep::ops {
namespace {

/// Saved for the backward pass; a ReLU fused into the kernel adds its mask.
struct Saved {
  Tensor x, weight, mean, var, relu_mask;
};

Tensors backward(const Saved& saved, Tensors grads, Attributes attributes,
                 OpCode code) {
  const Tensor dy = grads[0];
  grads.clear();
  attributes.relu = saved.relu_mask.defined();
  const TensorSpec x = {saved.x.sizes(), saved.x.dtype(), nullptr};
  const TensorSpec per_channel = saved.weight.spec();
  return compute_after_sum(
      code, {saved.x, dy, saved.weight, saved.mean, saved.var, saved.relu_mask},
      {x, per_channel, per_channel}, attributes);
}

Tensor evaluate(const Tensor& x, const BatchNormState& s, const Attributes& attributes,
                const OpCall& op) {
  Tensor y = compute_one(OpCode::batch_norm_eval,
                         {x, s.weight, s.bias, s.running_mean, s.running_var},
                         x.sizes(), attributes);
  Saved saved{x.detach(), s.weight.detach(), s.running_mean, s.running_var, {}};
  autograd::set_history("NativeBatchNormBackward0", {x, s.weight, s.bias}, {y}, op.id(),
                        [=](Tensors grads) {
                          return backward(saved, std::move(grads), attributes,
                                          OpCode::batch_norm_eval_backward);
                        });
  return y;
}

}  // namespace

Tensor batch_norm(const Tensor& x, const BatchNormState& s, bool training,
                  double momentum, double eps, Site site) {
  check_defined("batch_norm", {{"input", x}, {"weight", s.weight}, {"bias", s.bias}});
  OpCall op("aten::batch_norm", {x, s.weight, s.bias}, site);
  check(x.dim() == 4, "expected 4D input (got {}D input)", x.dim());
  check(x.size(1) == s.weight.numel(), "running_mean should contain {} elements not {}",
        x.size(1), s.weight.numel());
  check(!training || x.numel() > x.size(1),
        "Expected more than 1 value per channel when training, got input size {}",
        "torch.Size(" + x.sizes().str() + ")");
  Attributes attributes;
  attributes.eps = eps;
  attributes.momentum = momentum;
  if (!training) return evaluate(x, s, attributes, op);

  const TensorSpec per_channel = s.weight.spec();
  Tensors y =
      compute(OpCode::batch_norm,
              {x, s.weight, s.bias, s.running_mean, s.running_var, s.tracked},
              {{x.sizes(), x.dtype(), nullptr}, per_channel, per_channel}, attributes);
  auto saved =
      std::make_shared<Saved>(Saved{x.detach(), s.weight.detach(), y[1], y[2], {}});
  autograd::set_history("NativeBatchNormBackward0", {x, s.weight, s.bias}, {y[0]},
                        op.id(), [=](Tensors grads) {
                          return backward(*saved, std::move(grads), attributes,
                                          OpCode::batch_norm_backward);
                        });
  if (auto call = held_call(y[0])) {
    // A weak reference: the call ends on its stream, but memory is freed in program
    // order.
    call->absorb_relu = [tape = std::weak_ptr(saved)](const Tensor& mask) {
      if (const auto s = tape.lock()) s->relu_mask = mask;
    };
  }
  return y[0];
}

}  // namespace lockstep::ops
