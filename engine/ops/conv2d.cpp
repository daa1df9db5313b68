// conv2d: y[n,o] = b[o] + Σ_c x[n,c] ⋆ w[o,c] (cross-correlation).
#include "engine/ops/checks.h"
#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"

namespace lockstep::ops {
namespace {

int64_t output_size(int64_t in, int64_t kernel, const Conv2dOptions& o) {
  return (in + 2 * o.padding - kernel) / o.stride + 1;
}

void check_convolution(const Tensor& x, const Tensor& w, const Conv2dOptions& o) {
  check(x.dim() == 4,
        "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of "
        "size: {}",
        x.sizes().str());
  check(x.size(1) == w.size(1),
        "Given groups=1, weight of size {}, expected input{} to have {} channels, but "
        "got {} channels instead",
        w.sizes().str(), x.sizes().str(), w.size(1), x.size(1));
  const int64_t height = x.size(2) + 2 * o.padding, width = x.size(3) + 2 * o.padding;
  check(height >= w.size(2) && width >= w.size(3),
        "Calculated padded input size per channel: ({} x {}). Kernel size: ({} x {}). "
        "Kernel size can't be greater than actual input size",
        height, width, w.size(2), w.size(3));
}

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& w, const Tensor& b, Conv2dOptions o,
              Site site) {
  check_defined("conv2d", {{"input", x}, {"weight", w}});
  OpCall op("aten::conv2d", {x, w, b}, site);
  check_convolution(x, w, o);
  Attributes attributes;
  attributes.kernel = {w.size(2), w.size(3)};
  attributes.stride = {o.stride, o.stride};
  attributes.padding = {o.padding, o.padding};
  const Shape y_shape{x.size(0), w.size(0), output_size(x.size(2), w.size(2), o),
                      output_size(x.size(3), w.size(3), o)};
  Tensor weights = take_reordered(w);
  const Tensors made = compute(OpCode::conv2d, {x, weights, b},
                               {{y_shape, x.dtype(), nullptr}}, attributes);
  const Tensor& y = made[0];
  // A backend may have reordered the weights; they are used again for dx.
  if (made.size() > 1) weights = made[1];

  const bool x_needs = x.requires_grad();
  const bool has_bias = b.defined();
  autograd::set_history(
      "ConvolutionBackward0", {x, w, b}, {y}, op.id(),
      [=, x = x.detach(), w = weights.detach()](Tensors grads) -> Tensors {
        const Tensor dy = grads[0];
        grads.clear();
        // Compute dw first, so that DDP can send it while dx is computed.
        std::vector<TensorSpec> dw_db{{w.sizes(), w.dtype(), nullptr}};
        if (has_bias) dw_db.push_back({{w.size(0)}, w.dtype(), nullptr});
        Tensors dw =
            compute(OpCode::conv2d_backward_weight, {x, dy}, dw_db, attributes);
        Tensor dx;
        if (x_needs) {
          dx =
              compute_one(OpCode::conv2d_backward_data, {dy, w}, x.sizes(), attributes);
        }
        return {dx, dw[0], has_bias ? dw[1] : Tensor()};
      });
  return y;
}

}  // namespace lockstep::ops
