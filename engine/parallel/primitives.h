// The primitives of DataParallel. Each is a *slot* (engine/runtime/slot.h): a named
// function that learners can replace with their own.
#pragma once

#include <vector>

#include "engine/nn/module.h"
#include "engine/runtime/slot.h"

namespace lockstep::parallel {

using Devices = std::vector<Device>;

/// Splits `input` along dim 0 into chunks (sizes: `plan::chunk_sizes`) and copies chunk
/// i to device i. Returns at most one chunk per device. A chunk that is already on its
/// device is returned as a view, not a copy.
std::vector<Tensor> scatter(const Tensor& input, const Devices& devices);

/// Returns a copy of `module` on each device, created by broadcasting its parameters
/// (differentiable) and buffers. Replica 0 shares memory with `module`, so that updates
/// of its buffers persist.
std::vector<nn::ModulePtr> replicate(const nn::Module& module, const Devices& devices);

/// Runs replica i on input i, each in its own thread (a single replica in the
/// caller's). Rethrows the exception of the first failed replica after all have
/// finished.
std::vector<Tensor> parallel_apply(const std::vector<nn::ModulePtr>& replicas,
                                   const std::vector<Tensor>& inputs);

/// Concatenates outputs along dim 0 on device `to`. Differentiable: the backward pass
/// scatters the gradient.
Tensor gather(const std::vector<Tensor>& outputs, Device to);

/// Like the slots `scatter` and `gather`, but along dim `dim` (negative: from the end).
/// Memory is row-major and chunks are contiguous only along dim 0, so any other dim is
/// first moved to the front and afterwards moved back. Throws std::runtime_error,
/// worded like PyTorch's IndexError, if there is no such dim.
std::vector<Tensor> scatter_along(int dim, const Tensor& input, const Devices& devices);
Tensor gather_along(int dim, const std::vector<Tensor>& outputs, Device to);

/// Copies tensors on device 0 to every device; returns result[device][i]. Small tensors
/// are sent together in groups of about 10 MiB, and the copies are views into these
/// groups. result[0] contains the original tensors.
std::vector<Tensors> broadcast_coalesced(const Tensors& tensors,
                                         const Devices& devices);

/// Sums gradients[device][i] across devices, in groups, into memory of device `to`.
Tensors reduce_add_coalesced(const std::vector<Tensors>& gradients, Device to);

using ScatterFn = decltype(scatter);
using ReplicateFn = decltype(replicate);
using ParallelApplyFn = decltype(parallel_apply);
using GatherFn = decltype(gather);
using BroadcastFn = decltype(broadcast_coalesced);
using ReduceFn = decltype(reduce_add_coalesced);

/// Categorizes the memory that scatter allocates as inputs and records the chunk sizes
/// as facts of the step (tracer::step_facts).
class ScatterSlot : public runtime::PhaseSlot<ScatterFn> {
 public:
  using PhaseSlot::PhaseSlot;
  std::vector<Tensor> operator()(const Tensor& input, const Devices& devices) const;
};

/// The implementations in use. The four steps of `DataParallel::forward` are phases in
/// the trace.
struct Primitives {
  ScatterSlot scatter{"scatter", parallel::scatter};
  runtime::PhaseSlot<ReplicateFn> replicate{"replicate", parallel::replicate};
  runtime::PhaseSlot<ParallelApplyFn> parallel_apply{"parallel_apply",
                                                     parallel::parallel_apply};
  runtime::PhaseSlot<GatherFn> gather{"gather", parallel::gather};
  runtime::Slot<BroadcastFn> broadcast_coalesced{"broadcast_coalesced",
                                                 parallel::broadcast_coalesced};
  runtime::Slot<ReduceFn> reduce_add_coalesced{"reduce_add_coalesced",
                                               parallel::reduce_add_coalesced};
};
Primitives& primitives();

/// A forward hook that records the size of the wrapper's output as a fact of the step.
/// Keeps the output.
Tensor record_output(nn::Module& wrapper, const Tensor& input, const Tensor& output);

}  // namespace lockstep::parallel
