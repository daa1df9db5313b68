// Gradient clipping by total norm.
#pragma once

#include <functional>
#include <source_location>

#include "engine/tensor/tensor.h"

namespace lockstep::optim {

/// How a rank adds up numbers with the others, of which some may have no gradients.
struct SumOverRanks {
  Device device;  ///< of the rank
  /// Replaces a row of numbers on `device` by its sum over all ranks. Empty: no ranks.
  std::function<void(const Tensor& row)> add;
};

/// torch.nn.utils.clip_grad_norm_: if the Euclidean norm of all gradients, viewed as
/// one vector, exceeds `max_norm`, multiplies each gradient by max_norm / (norm +
/// 1e-6). Returns the norm before scaling; blocks until the device has computed it.
/// Ignores parameters without a gradient. With `ranks`, the norm is that of all ranks,
/// which call this with the same parameters: each has the gradients of some. Source:
/// torch/nn/utils/clip_grad.py.
double clip_grad_norm_(const Tensors& parameters, double max_norm,
                       const SumOverRanks& ranks = {},
                       std::source_location site = std::source_location::current());

/// The second half of clip_grad_norm_: scales the gradients of `parameters` as if their
/// norm were `norm`. For replicas of parameters that were clipped elsewhere.
void scale_to_norm_(const Tensors& parameters, double norm, double max_norm,
                    std::source_location site = std::source_location::current());

}  // namespace lockstep::optim
