// The dispatcher: functionality shared by all operations.
#pragma once

#include <optional>
#include <source_location>

#include "engine/autograd/node.h"
#include "engine/backends/backend.h"
#include "tracer/record/recorder.h"
#include "tracer/record/traceback.h"

namespace lockstep::ops {

/// Records an operation on the host, from construction to destruction, as an `op` event
/// with PyTorch's name, the shapes of `inputs` (if any) and, if given, the call site,
/// which then also appears in tracebacks.
class OpEvent {
 public:
  OpEvent(const char* name, const Tensors& inputs);
  OpEvent(const char* name, const Tensors& inputs, const std::source_location& site);
  int64_t id() const { return event_.id(); }

 private:
  std::optional<tracer::CallSite> site_;
  tracer::HostEvent event_;
};

/// The event of an operation that launches kernels; also checks that all inputs are on
/// one device. Throws std::runtime_error if they are not.
class OpCall : public OpEvent {
 public:
  OpCall(const char* name, const Tensors& inputs, const std::source_location& site);
};

/// Plans `code`, allocates its outputs (those in `out`, then the plan's opaque ones)
/// and enqueues its kernel on the compute stream of the inputs' device. Returns the
/// outputs. An undefined input stands for an absent one.
Tensors compute(OpCode code, const Tensors& in, const std::vector<TensorSpec>& out,
                const Attributes& attributes = {}, const Scalars& scalars = {});

/// Like `compute`. If an addition that writes in[1] is still held back, the new kernel
/// also performs that addition, where its backend can do so.
Tensors compute_after_sum(OpCode code, const Tensors& in,
                          const std::vector<TensorSpec>& out,
                          const Attributes& attributes);

/// Like `compute`, but writes to existing outputs (for in-place operations).
void compute_into(OpCode code, const Tensors& in, const Tensors& out,
                  const Attributes& attributes = {}, const Scalars& scalars = {});

/// Like `compute`, for a single output with the data type of the first input.
Tensor compute_one(OpCode code, const Tensors& in, const Shape& out,
                   const Attributes& attributes = {}, const Scalars& scalars = {});

/// Adds the shapes of `tensors` to the event as `shapes`.
void describe_shapes(tracer::HostEvent& event, const Tensors& tensors);

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

/// Returns the most recent kernel call on the stream of `output` if it writes `output`
/// and is still held back; otherwise null.
std::shared_ptr<KernelCall> held_call(const Tensor& output);

/// Fuses a ReLU into the held-back kernel that writes `x`. Returns false and changes
/// nothing if there is no such kernel. Otherwise sets `covers_backward` to whether that
/// kernel's gradient formula now includes the ReLU's.
bool fuse_relu(const Tensor& x, bool& covers_backward);

/// Fuses the addition of `b`, in place on `a`, into the held-back kernel that writes
/// `a`. Returns false and changes nothing if there is no such kernel.
bool fuse_add(const Tensor& a, const Tensor& b);

/// Fuses the gradient of a ReLU whose output is `y`, in place on `dy`, into the
/// held-back kernel that writes `dy`. Returns false and changes nothing if there is no
/// such kernel.
bool fuse_relu_backward(const Tensor& dy, const Tensor& y);

/// Returns the copy of a convolution's weights that reorder_for_convolutions has made,
/// which is then forgotten; `weight` if there is none.
Tensor take_reordered(const Tensor& weight);

}  // namespace lockstep::ops
