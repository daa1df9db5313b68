// Pooling: the maximum or the mean of each window.
#include "engine/ops/checks.h"
#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"

namespace lockstep::ops {
namespace {

Attributes window(const Pool2dOptions& o) {
  Attributes attributes;
  attributes.kernel = {o.kernel, o.kernel};
  attributes.stride = {o.stride, o.stride};
  attributes.padding = {o.padding, o.padding};
  return attributes;
}

Shape pooled(const char* op, const Tensor& x, const Pool2dOptions& o) {
  check_defined(op, {{"input", x}});
  check(x.dim() == 4, "non-empty 3D or 4D (batch mode) tensor expected for input");
  auto size = [&o](int64_t in) {
    const int64_t last = in + 2 * o.padding - o.kernel;  // start of the last window
    return last < 0 ? 0 : last / o.stride + 1;
  };
  check(x.size(2) + 2 * o.padding >= o.kernel && x.size(3) + 2 * o.padding >= o.kernel,
        "Given input size: ({}x{}x{}). Calculated output size: ({}x{}x{}). Output size "
        "is too small",
        x.size(1), x.size(2), x.size(3), x.size(1), size(x.size(2)), size(x.size(3)));
  return {x.size(0), x.size(1), size(x.size(2)), size(x.size(3))};
}

/// Pooling that saves no tensors: its backward pass only needs the shapes.
Tensor average(const char* op_name, const char* node_name, OpCode forward,
               OpCode backward, const Tensor& x, const Shape& out,
               const Attributes& attributes, Site site) {
  OpCall op(op_name, {x}, site);
  Tensor y = compute_one(forward, {x}, out, attributes);
  autograd::set_history(node_name, {x}, {y}, op.id(),
                        [=, sizes = x.sizes()](Tensors grads) -> Tensors {
                          return {compute_one(backward, {grads[0]}, sizes, attributes)};
                        });
  return y;
}

}  // namespace

Tensor max_pool2d(const Tensor& x, Pool2dOptions o, Site site) {
  check_defined("max_pool2d", {{"input", x}});
  OpCall op("aten::max_pool2d", {x}, site);
  const Shape out = pooled("max_pool2d", x, o);
  const Attributes attributes = window(o);
  Tensors y = compute(OpCode::max_pool2d, {x}, {{out, x.dtype(), nullptr}}, attributes);
  autograd::set_history(
      "MaxPool2DWithIndicesBackward0", {x}, {y[0]}, op.id(),
      [=, sizes = x.sizes(), positions = y[1]](Tensors grads) -> Tensors {
        return {compute_one(OpCode::max_pool2d_backward, {grads[0], positions}, sizes,
                            attributes)};
      });
  return y[0];
}

Tensor avg_pool2d(const Tensor& x, Pool2dOptions o, Site site) {
  return average("aten::avg_pool2d", "AvgPool2DBackward0", OpCode::avg_pool2d,
                 OpCode::avg_pool2d_backward, x, pooled("avg_pool2d", x, o), window(o),
                 site);
}

Tensor adaptive_avg_pool2d(const Tensor& x, int64_t height, int64_t width, Site site) {
  check_defined("adaptive_avg_pool2d", {{"input", x}});
  check(x.dim() == 4, "adaptive_avg_pool2d(): Expected 3D or 4D tensor, but got {}",
        x.sizes().str());
  return average("aten::adaptive_avg_pool2d", "AdaptiveAvgPool2DBackward0",
                 OpCode::adaptive_avg_pool2d, OpCode::adaptive_avg_pool2d_backward, x,
                 {x.size(0), x.size(1), height, width}, {}, site);
}

}  // namespace lockstep::ops
