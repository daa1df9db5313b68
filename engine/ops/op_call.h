// The dispatcher: what all operations have in common.
#pragma once

#include <source_location>

#include "engine/autograd/node.h"
#include "engine/backends/backend.h"
#include "tracer/record/recorder.h"

namespace lockstep::ops {

/// Records an operation on the host, from construction to destruction, as an `op` event
/// with PyTorch's name, the shapes of `inputs` (if there are any) and the call site.
class OpEvent {
 public:
  OpEvent(const char* name, const Tensors& inputs);
  OpEvent(const char* name, const Tensors& inputs, const std::source_location& site);
  int64_t id() const { return event_.id(); }

 private:
  tracer::HostEvent event_;
};

/// An operation that computes: its event, and the check that all inputs lie on one
/// device. Throws std::runtime_error if they do not.
class OpCall : public OpEvent {
 public:
  OpCall(const char* name, const Tensors& inputs, const std::source_location& site);
};

/// Plans `code`, allocates its outputs (those of `out`, then the plan's opaque ones)
/// and enqueues its kernel on the compute stream of the inputs' device. Returns the
/// outputs. An undefined input stands for an absent one.
Tensors compute(OpCode code, const Tensors& in, const std::vector<TensorSpec>& out,
                const Attributes& attributes = {}, const Scalars& scalars = {});

/// As `compute`, for outputs that exist already (in-place operations).
void compute_into(OpCode code, const Tensors& in, const Tensors& out,
                  const Attributes& attributes = {}, const Scalars& scalars = {});

/// As `compute`, for a single output of the first input's type.
Tensor compute_one(OpCode code, const Tensors& in, const Shape& out,
                   const Attributes& attributes = {}, const Scalars& scalars = {});

/// Adds the shapes of `tensors` to the event, as `shapes`.
void describe_shapes(tracer::HostEvent& event, const Tensors& tensors);

/// A kernel call. While its stream holds it back it may be changed (see relu_).
struct KernelCall {
  PlanPtr plan;
  PlanRequest request;
  std::vector<View> in, out;
  void* workspace = nullptr;
  Scalars scalars;
  /// Set by operations whose gradient formula can include a ReLU's (batch norm). Called
  /// with the fused kernel's opaque output, the mask of positive values.
  std::function<void(const Tensor& mask)> absorb_relu;
};

/// Returns the newest kernel call on the stream of `output` if it writes `output` and
/// is still held back; else null.
std::shared_ptr<KernelCall> held_call(const Tensor& output);

/// Fuses a ReLU into the held-back kernel that writes `x`. Returns false, and changes
/// nothing, if there is none. Sets `covers_backward` to whether that kernel's gradient
/// formula now includes the ReLU's.
bool fuse_relu(const Tensor& x, bool& covers_backward);

}  // namespace lockstep::ops
