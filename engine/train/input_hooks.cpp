#include "engine/train/input_hooks.h"

#include "engine/ops/ops.h"

namespace lockstep::train {
namespace {

Tensors weights_of_convolutions(const nn::Module& module) {
  Tensors weights;
  for (const Tensor& parameter : module.parameters()) {
    if (parameter.dim() == 4) weights.push_back(parameter);
  }
  return weights;
}

}  // namespace

void normalize_input(nn::Module& module, const data::Normalization& constants,
                     DType dtype) {
  module.register_forward_pre_hook([=](nn::Module&, const Tensor& bytes) {
    return ops::normalize_images(bytes, constants.mean, constants.std, dtype);
  });
}

void reorder_at_once(nn::Module& module) {
  module.register_forward_pre_hook([](nn::Module& called, const Tensor& input) {
    return ops::reorder_for_convolutions(input, weights_of_convolutions(called));
  });
  module.register_forward_hook([](nn::Module& called, const Tensor&, const Tensor&) {
    ops::forget_reordered(weights_of_convolutions(called));
    return Tensor();
  });
}

}  // namespace lockstep::train
