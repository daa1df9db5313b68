// linear: y = x wᵀ + b;  dx = dy w,  dw = dyᵀ x,  db = Σ_n dy[n].
#include "engine/ops/checks.h"
#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"

namespace lockstep::ops {

Tensor linear(const Tensor& x, const Tensor& w, const Tensor& b, Site site) {
  check_defined("linear", {{"input", x}, {"weight", w}});
  check(x.dim() == 2 && x.size(1) == w.size(1),
        "size mismatch, m1: [{} x {}], m2: [{} x {}]", x.size(0),
        x.size(0) ? x.numel() / x.size(0) : 0, w.size(1), w.size(0));
  OpCall op("aten::linear", {x, w, b}, site);
  Tensor y = compute_one(OpCode::linear, {x, w, b}, {x.size(0), w.size(0)});

  const bool x_needs = x.requires_grad();
  const bool has_bias = b.defined();
  autograd::set_history(
      // addmm(b, x, wᵀ): the bias is the first input and so has the first gradient.
      "AddmmBackward0", {b, x, w}, {y}, op.id(),
      [=, x = x.detach(), w = w.detach()](Tensors grads) -> Tensors {
        const Tensor dy = grads[0];
        std::vector<TensorSpec> dw_db{{w.sizes(), w.dtype(), nullptr}};
        if (has_bias) dw_db.push_back({{w.size(0)}, w.dtype(), nullptr});
        Tensors dw = compute(OpCode::linear_backward_weight, {x, dy}, dw_db);
        Tensor dx;
        if (x_needs) dx = compute_one(OpCode::linear_backward_data, {dy, w}, x.sizes());
        return {has_bias ? dw[1] : Tensor(), dx, dw[0]};
      });
  return y;
}

}  // namespace lockstep::ops
