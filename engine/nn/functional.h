// Layers as functions, for models that hold their own parameters, like
// torch.nn.functional.
#pragma once

#include "engine/ops/ops.h"

namespace lockstep::nn::functional {

/// Returns x wᵀ, without a bias.
inline Tensor linear(const Tensor& x, const Tensor& weight) {
  return ops::linear(x, weight, {});
}

}  // namespace lockstep::nn::functional
