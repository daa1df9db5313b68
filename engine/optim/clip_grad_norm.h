// Gradients that are too long together are shortened together.
#pragma once

#include <source_location>

#include "engine/tensor/tensor.h"

namespace lockstep::optim {

/// torch.nn.utils.clip_grad_norm_: the Euclidean norm of all gradients as one vector is
/// brought down to `max_norm` where it is larger: each gradient is multiplied by
/// max_norm / (norm + 1e-6). Returns the norm before; waits for the device to read it.
/// Parameters without a gradient are left alone.
/// Source: torch/nn/utils/clip_grad.py.
double clip_grad_norm_(const Tensors& parameters, double max_norm,
                       std::source_location site = std::source_location::current());

}  // namespace lockstep::optim
