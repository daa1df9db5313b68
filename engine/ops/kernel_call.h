// A kernel on its way to its stream: the steps of `compute` (op_call.h).
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/backends/backend.h"
#include "engine/runtime/device_context.h"

namespace lockstep::ops {

/// A kernel call. It may be amended while its stream holds it back (see Stream::amend).
struct KernelCall {
  PlanPtr plan;
  PlanRequest request;
  std::vector<View> in, out;
  void* workspace = nullptr;
  Scalars scalars;
  /// Set by operations whose gradient formula can include that of a ReLU (batch norm).
  /// Called with the fused kernel's opaque output, the mask of positive values.
  std::function<void(const Tensor& mask)> absorb_relu;
};

/// Returns the device of the tensors that are defined. Throws std::runtime_error if
/// they are on several, on the host, or if there are none.
Device common_device(const Tensors& inputs);

/// Returns what a plan receives for a tensor that may be undefined.
TensorSpec spec_or_absent(const Tensor& tensor);

/// Plans a kernel and provides its workspace. May wait for the device, to time kernels.
std::shared_ptr<KernelCall> prepare(runtime::DeviceContext& device, OpCode code,
                                    const Tensors& in,
                                    const std::vector<TensorSpec>& out,
                                    const Attributes& attributes,
                                    const Scalars& scalars);

/// Allocates the outputs, then the plan's opaque ones.
Tensors allocate_outputs(runtime::DeviceContext& device, KernelCall& call);

/// Enqueues the call on the compute stream. It is held back if something can be fused
/// into it.
void launch(runtime::DeviceContext& device, std::shared_ptr<KernelCall> call);

/// Makes `call` what a task runs and records. The innermost open event is the operation
/// that launches it.
void describe_kernel(runtime::Task& task, const std::shared_ptr<KernelCall>& call);

/// Updates the record of a task whose call has been amended.
void update_record(runtime::Task& task, const KernelCall& call);

}  // namespace lockstep::ops
