#include "engine/backends/cpu/cpu_backend.h"

#include <omp.h>

#include <dnnl.hpp>

namespace lockstep {
namespace {

bool is_double(const PlanRequest& request) {
  for (const auto* specs : {&request.in, &request.out}) {
    for (const TensorSpec& spec : *specs) {
      if (spec.dtype == DType::f64) return true;
    }
  }
  return false;
}

}  // namespace

void CpuBackend::prepare_thread(int threads) {
  // A new thread starts with OpenMP's default, not with its creator's setting.
  omp_set_num_threads(threads);
}

bool CpuBackend::can_fuse_relu(OpCode code) const {
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

bool CpuBackend::has_bfloat16() const {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  constexpr auto kNeeded = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  return (isa & kNeeded) == kNeeded;
}

PlanPtr CpuBackend::make_plan(const PlanRequest& request) {
  if (is_double(request)) return cpu::plan_on_plain(request);
  // oneDNN fixes a primitive's thread count at creation.
  const int outer_threads = omp_get_max_threads();
  omp_set_num_threads(request.threads);
  PlanPtr plan;
  switch (request.code) {
    case OpCode::conv2d:
    case OpCode::conv2d_backward_data:
    case OpCode::conv2d_backward_weight:
      plan = cpu::plan_convolution(request);
      break;
    case OpCode::linear:
    case OpCode::linear_backward_data:
    case OpCode::linear_backward_weight:
      plan = cpu::plan_linear(request);
      break;
    case OpCode::batch_norm:
    case OpCode::batch_norm_eval:
    case OpCode::batch_norm_backward:
    case OpCode::batch_norm_eval_backward:
      plan = cpu::plan_batch_norm(request);
      break;
    case OpCode::batch_norm_stats:
    case OpCode::batch_norm_backward_reduce:
    case OpCode::batch_norm_backward_elemt:
      plan = cpu::plan_shared_batch_norm(request);
      break;
    case OpCode::max_pool2d:
    case OpCode::max_pool2d_backward:
    case OpCode::avg_pool2d:
    case OpCode::avg_pool2d_backward:
    case OpCode::adaptive_avg_pool2d:
    case OpCode::adaptive_avg_pool2d_backward:
      plan = cpu::plan_pooling(request);
      break;
    case OpCode::relu:
    case OpCode::relu_backward:
    case OpCode::add:
    case OpCode::scale:
    case OpCode::fill:
    case OpCode::copy:
    case OpCode::sgd:
      plan = cpu::plan_elementwise(request);
      break;
    default:
      plan = cpu::plan_on_plain(request);
  }
  omp_set_num_threads(outer_threads);
  return plan;
}

}  // namespace lockstep
