// Kernels for CPU cores, based on oneDNN (v2 API), which is used only in this folder.
// float32 only; double uses the plain loops of `reference`.
#pragma once

#include <vector>

#include "engine/backends/backend.h"

namespace lockstep {

struct CpuBackend : Backend {
  void prepare_thread(int threads) override;
  bool can_fuse_relu(OpCode code) const override;
  bool has_bfloat16() const override;

 protected:
  PlanPtr make_plan(const PlanRequest& request) override;
  bool times_kernels(OpCode code) const override { return is_benchmarked(code); }
};

namespace cpu {

// One planner per family of operations.
PlanPtr plan_convolution(const PlanRequest& request);
PlanPtr plan_linear(const PlanRequest& request);
PlanPtr plan_batch_norm(const PlanRequest& request);
PlanPtr plan_shared_batch_norm(const PlanRequest& request);
PlanPtr plan_pooling(const PlanRequest& request);
PlanPtr plan_elementwise(const PlanRequest& request);

/// Plans the reference kernel, with inputs reordered to the plain layout.
PlanPtr plan_on_plain(const PlanRequest& request);

/// Chooses a kernel by timing all candidates (`--benchmark`, like
/// torch.backends.cudnn.benchmark): runs each plan (skipping null) on separate memory,
/// prints the times and returns the fastest. REQUIRES: nothing else is running;
/// otherwise, the times are unreliable.
PlanPtr fastest(const PlanRequest& request, const std::vector<PlanPtr>& plans);

}  // namespace cpu
}  // namespace lockstep
