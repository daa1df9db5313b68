// relu: y = max(x, 0);  dx = dy where y > 0, else 0.
#include "engine/ops/checks.h"
#include "engine/ops/fusions.h"
#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"

namespace lockstep::ops {
namespace {

void record_backward(const Tensor& x, const Tensor& y, int64_t op) {
  autograd::set_history(
      "ReluBackward0", {x}, {y}, op, [y = y.detach()](Tensors grads) -> Tensors {
        Tensor dy = std::move(grads[0]);
        if (dy.owns_memory_alone() && dy.spec() == y.spec()) {
          if (!fuse_relu_backward(dy, y)) {
            compute_into(OpCode::relu_backward, {dy, y}, {dy});
          }
          return {dy};
        }
        return {compute_one(OpCode::relu_backward, {dy, y}, y.sizes())};
      });
}

}  // namespace

Tensor relu(const Tensor& x, Site site) {
  check_defined("relu", {{"input", x}});
  OpCall op("aten::relu", {x}, site);
  Tensor y = compute_one(OpCode::relu, {x}, x.sizes());
  record_backward(x, y, op.id());
  return y;
}

Tensor& relu_(Tensor& x, Site site) {
  check_defined("relu_", {{"input", x}});
  check_in_place(x);
  OpCall op("aten::relu_", {x}, site);
  bool covers_backward = false;
  if (!fuse_relu(x, covers_backward)) {
    compute_into(OpCode::relu, {x}, {x});
  }
  if (!covers_backward) record_backward(x, x, op.id());
  return x;
}

}  // namespace lockstep::ops
