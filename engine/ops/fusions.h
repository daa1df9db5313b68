// Fusions: a kernel that its stream still holds back also does the work of the
// operation after it, so that memory is traversed once instead of twice.
#pragma once

#include "engine/ops/kernel_call.h"

namespace lockstep::ops {

/// Returns the most recent kernel call on the stream of `output` if it writes `output`
/// and is still held back; otherwise null.
std::shared_ptr<KernelCall> held_call(const Tensor& output);

/// Fuses a ReLU into the held-back kernel that writes `x`. Returns false and changes
/// nothing if there is no such kernel. Otherwise sets `covers_backward` to whether that
/// kernel's gradient formula now includes the ReLU's.
bool fuse_relu(const Tensor& x, bool& covers_backward);

/// Fuses the addition of `b`, in place on `a`, into the held-back kernel that writes
/// `a`. Returns false and changes nothing if there is no such kernel, if its backend
/// cannot do so, or if the layouts differ.
bool fuse_add(const Tensor& a, const Tensor& b);

/// Fuses the gradient of a ReLU whose output is `y`, in place on `dy`, into the
/// held-back kernel that writes `dy`. Returns false and changes nothing if there is no
/// such kernel.
bool fuse_relu_backward(const Tensor& dy, const Tensor& y);

/// Like `compute`. If an addition that writes in[1] is still held back, the new kernel
/// also performs that addition, where its backend can do so.
Tensors compute_after_sum(OpCode code, const Tensors& in,
                          const std::vector<TensorSpec>& out,
                          const Attributes& attributes);

}  // namespace lockstep::ops
