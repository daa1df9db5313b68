// The dispatcher: what every operation does before and after its kernel.
#pragma once

#include <source_location>

#include "engine/autograd/node.h"
#include "engine/backends/backend.h"
#include "tracer/record/recorder.h"

namespace lockstep::ops {

/// An operation on the host, from its call to its return; recorded as an `op` event
/// with PyTorch's name, shapes, FLOPs and call site. Checks that all inputs live on
/// one device.
class OpCall {
 public:
  OpCall(const char* name, const Tensors& inputs, const std::source_location& site);
  int64_t id() const { return event_.id(); }

 private:
  tracer::HostEvent event_;
};

/// Plans `code`, takes memory for its outputs (those of `out`, then the plan's opaque
/// ones) and enqueues its kernel on the compute stream of the inputs' device.
/// Undefined inputs stand for absent ones.
Tensors compute(OpCode code, const Tensors& in, const std::vector<TensorSpec>& out,
                const Attributes& attributes = {}, const Scalars& scalars = {});

/// The same for outputs that exist already (in-place operations).
void compute_into(OpCode code, const Tensors& in, const Tensors& out,
                  const Attributes& attributes = {}, const Scalars& scalars = {});

/// A single output of the inputs' type.
Tensor compute_one(OpCode code, const Tensors& in, const Shape& out,
                   const Attributes& attributes = {}, const Scalars& scalars = {});

/// Records the shapes of `tensors` as the event's `shapes`.
void describe_shapes(tracer::HostEvent& event, const Tensors& tensors);

/// A kernel call that still waits in its stream and may be changed (see relu_).
struct KernelCall {
  PlanPtr plan;
  PlanRequest request;
  std::vector<View> in, out;
  void* workspace = nullptr;
  Scalars scalars;
  /// Set by operations whose gradient can take a ReLU's with it (batch norm): called
  /// with the fused kernel's opaque output, the mask of positive values.
  std::function<void(const Tensor& mask)> absorb_relu;
};

/// The newest kernel call on the stream of `output`, if it writes `output` and is still
/// held back; else null.
std::shared_ptr<KernelCall> held_call(const Tensor& output);

/// Lets a ReLU melt into the held-back kernel that writes `x`. Returns false when there
/// is none; then nothing has changed. `covers_backward` tells whether that kernel's
/// gradient formula now includes the ReLU's.
bool fuse_relu(const Tensor& x, bool& covers_backward);

}  // namespace lockstep::ops
