// The dispatcher: functionality shared by all operations. How a kernel is planned and
// enqueued is in kernel_call.h.
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

/// Like `compute`, but writes to existing outputs (for in-place operations).
void compute_into(OpCode code, const Tensors& in, const Tensors& out,
                  const Attributes& attributes = {}, const Scalars& scalars = {});

/// Like `compute`, for a single output with the data type of the first input.
Tensor compute_one(OpCode code, const Tensors& in, const Shape& out,
                   const Attributes& attributes = {}, const Scalars& scalars = {});

/// Adds the shapes of `tensors` to the event as `shapes`.
void describe_shapes(tracer::HostEvent& event, const Tensors& tensors);

/// Returns the copy of a convolution's weights that reorder_for_convolutions has made,
/// which is then forgotten; `weight` if there is none.
Tensor take_reordered(const Tensor& weight);

}  // namespace lockstep::ops
