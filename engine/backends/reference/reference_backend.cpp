#include "engine/backends/reference/reference_backend.h"

#include <stdexcept>

namespace lockstep {
namespace reference {
namespace {

template <typename T>
Kernel kernel_for(const PlanRequest& request) {
  switch (request.code) {
    case OpCode::conv2d:
    case OpCode::conv2d_backward_data:
    case OpCode::conv2d_backward_weight:
      return convolution<T>(request);
    case OpCode::linear:
    case OpCode::linear_backward_data:
    case OpCode::linear_backward_weight:
      return matrix<T>(request);
    case OpCode::batch_norm:
    case OpCode::batch_norm_eval:
    case OpCode::batch_norm_backward:
    case OpCode::batch_norm_eval_backward:
      return normalization<T>(request);
    case OpCode::batch_norm_stats:
    case OpCode::batch_norm_gather_stats:
    case OpCode::batch_norm_update:
    case OpCode::batch_norm_backward_reduce:
    case OpCode::batch_norm_backward_elemt:
      return shared_normalization<T>(request);
    case OpCode::max_pool2d:
    case OpCode::max_pool2d_backward:
    case OpCode::avg_pool2d:
    case OpCode::avg_pool2d_backward:
    case OpCode::adaptive_avg_pool2d:
    case OpCode::adaptive_avg_pool2d_backward:
      return pooling<T>(request);
    case OpCode::log_softmax:
    case OpCode::log_softmax_backward:
    case OpCode::nll_loss:
    case OpCode::nll_loss_backward:
    case OpCode::correct_in_top_k:
      return loss<T>(request);
    case OpCode::sgd:
    case OpCode::adam:
    case OpCode::rmsprop:
      return optimizer<T>(request);
    default:
      return elementwise<T>(request);
  }
}

/// Returns the type of the operation's first floating-point tensor.
DType floating_type(const PlanRequest& request) {
  for (const auto* specs : {&request.in, &request.out}) {
    for (const TensorSpec& spec : *specs) {
      if (spec.dtype == DType::f32 || spec.dtype == DType::f64) return spec.dtype;
    }
  }
  return DType::f32;
}

}  // namespace

PlanPtr make_plan(const PlanRequest& request) {
  auto plan = std::make_shared<Plan>();
  plan->impl = std::string("reference:") + name(floating_type(request));
  if (request.code == OpCode::max_pool2d) {
    plan->extra.push_back({request.out[0].sizes, DType::i64, nullptr});
  }
  plan->run = floating_type(request) == DType::f64 ? kernel_for<double>(request)
                                                   : kernel_for<float>(request);
  return plan;
}

}  // namespace reference

PlanPtr ReferenceBackend::make_plan(const PlanRequest& request) {
  return reference::make_plan(request);
}

}  // namespace lockstep
