// linear: y = x wᵀ + b;  dx = dy w,  dw = dyᵀ x,  db = Σ_n dy[n].
#include "engine/ops/checks.h"
#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"

namespace lockstep::ops {
namespace {

/// Throws with PyTorch's message, as worded by current and by older versions.
void check_shapes(const Tensor& x, const Tensor& w) {
  const int64_t rows = x.size(0), columns = rows ? x.numel() / rows : 0;
  check(x.dim() == 2 && x.size(1) == w.size(1),
        "mat1 and mat2 shapes cannot be multiplied ({0}x{1} and {2}x{3}); in older "
        "PyTorch: size mismatch, m1: [{0} x {1}], m2: [{2} x {3}]",
        rows, columns, w.size(1), w.size(0));
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& w, const Tensor& b, Site site) {
  check_defined("linear", {{"input", x}, {"weight", w}});
  OpCall op("aten::linear", {x, w, b}, site);
  check_shapes(x, w);
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
