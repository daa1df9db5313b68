// Dispatches each operation to its planner.
#pragma once

#include <limits>
#include <stdexcept>

#include "engine/backends/cuda/machine.h"
#include "engine/backends/cuda/plans/convolution_form.h"

namespace lockstep::cuda {

/// Throws std::runtime_error for tensors that kernels do not support: float64 (except
/// in copies), or more than 2^31 - 1 elements, since they are indexed with 32 bits.
inline void check_types(const PlanRequest& r) {
  for (const auto* specs : {&r.in, &r.out}) {
    for (const TensorSpec& spec : *specs) {
      if (spec.dtype == DType::f64 && r.code != OpCode::copy &&
          r.code != OpCode::flatten_many) {
        throw std::runtime_error(
            std::string("cuda: ") + name(r.code) +
            " does not support float64; fix: use --device-type reference");
      }
      if (spec.sizes.numel() <= std::numeric_limits<int32_t>::max()) continue;
      throw std::runtime_error(
          std::string("cuda: ") + name(r.code) + " of " + spec.sizes.str() +
          ": more than 2^31 - 1 elements; fix: use a smaller batch (-b)");
    }
  }
}

template <class Machine>
PlanPtr make_plan(const PlanRequest& r) {
  check_types(r);
  switch (r.code) {
    case OpCode::conv2d:
    case OpCode::conv2d_backward_data:
    case OpCode::conv2d_backward_weight:
    case OpCode::reorder_many:
      return plan_convolution<Machine>(r);
    case OpCode::linear:
    case OpCode::linear_backward_data:
    case OpCode::linear_backward_weight:
      return plan_linear<Machine>(r);
    case OpCode::batch_norm:
    case OpCode::batch_norm_eval:
    case OpCode::batch_norm_backward:
    case OpCode::batch_norm_eval_backward:
    case OpCode::batch_norm_stats:
    case OpCode::batch_norm_gather_stats:
    case OpCode::batch_norm_update:
    case OpCode::batch_norm_backward_reduce:
    case OpCode::batch_norm_backward_elemt:
      return plan_normalization<Machine>(r);
    case OpCode::max_pool2d:
    case OpCode::max_pool2d_backward:
    case OpCode::avg_pool2d:
    case OpCode::avg_pool2d_backward:
    case OpCode::adaptive_avg_pool2d:
    case OpCode::adaptive_avg_pool2d_backward:
      return plan_pooling<Machine>(r);
    case OpCode::log_softmax:
    case OpCode::log_softmax_backward:
    case OpCode::nll_loss:
    case OpCode::nll_loss_backward:
    case OpCode::correct_in_top_k:
      return plan_loss<Machine>(r);
    case OpCode::sgd:
    case OpCode::adam:
    case OpCode::rmsprop:
      return plan_optimizer<Machine>(r);
    default:
      return plan_elementwise<Machine>(r);
  }
}

/// Returns true for operations that can fuse a following ReLU into their last kernel.
inline bool takes_relu(OpCode code) {
  switch (code) {
    case OpCode::conv2d:
    case OpCode::linear:
    case OpCode::batch_norm:
    case OpCode::batch_norm_eval:
    case OpCode::add:
      return true;
    default:
      return false;
  }
}

/// Returns true for operations that can fuse a following ReLU's gradient.
inline bool takes_relu_backward(OpCode code) { return code == OpCode::add; }

/// Returns true for operations that can fuse a following addition to their result.
inline bool takes_add(OpCode code) {
  return code == OpCode::batch_norm || code == OpCode::batch_norm_eval;
}

/// Returns true for operations that can fuse the addition of the gradient they read.
inline bool takes_sum(OpCode code) {
  return code == OpCode::batch_norm_backward ||
         code == OpCode::batch_norm_eval_backward;
}

}  // namespace lockstep::cuda
