// The primitives of DataParallel, each a *slot* (engine/runtime/slot.h): a named
// function that a learner's own one can replace.
#pragma once

#include <vector>

#include "engine/nn/module.h"
#include "engine/runtime/slot.h"

namespace lockstep::parallel {

using Devices = std::vector<Device>;

/// Cuts `input` along dim 0 as `plan::chunk_sizes` says and copies chunk i to device i.
/// There may be fewer chunks than devices. From the host every chunk travels; from
/// device 0 chunk 0 stays, as a view.
std::vector<Tensor> scatter(const Tensor& input, const Devices& devices);

/// A copy of `module` on each device, by `broadcast` of its parameters (differentiable)
/// and buffers. Replica 0 shares device 0's memory, so its buffers' updates survive.
std::vector<nn::ModulePtr> replicate(const nn::Module& module, const Devices& devices);

/// Runs replica i on input i, each in a thread of its own (a single one in the
/// caller's); rethrows the first replica's exception after all have ended.
std::vector<Tensor> parallel_apply(const std::vector<nn::ModulePtr>& replicas,
                                   const std::vector<Tensor>& inputs);

/// Joins outputs along dim 0 on device `to`; differentiable: the gradient is scattered
/// back.
Tensor gather(const std::vector<Tensor>& outputs, Device to);

/// tensors[i] of device 0 for each device: result[device][i]. Small tensors travel
/// together in groups of about 10 MiB; what arrives are views into the groups. Entry 0
/// is the originals themselves.
std::vector<Tensors> broadcast_coalesced(const Tensors& tensors,
                                         const Devices& devices);

/// Sums gradients[device][i] over devices into memory of device 0, in groups.
Tensors reduce_add_coalesced(const std::vector<Tensors>& gradients, Device to);

using ScatterFn = decltype(scatter);
using ReplicateFn = decltype(replicate);
using ParallelApplyFn = decltype(parallel_apply);
using GatherFn = decltype(gather);
using BroadcastFn = decltype(broadcast_coalesced);
using ReduceFn = decltype(reduce_add_coalesced);

/// The functions in use.
struct Primitives {
  runtime::Slot<ScatterFn> scatter{"scatter", parallel::scatter};
  runtime::Slot<ReplicateFn> replicate{"replicate", parallel::replicate};
  runtime::Slot<ParallelApplyFn> parallel_apply{"parallel_apply",
                                                parallel::parallel_apply};
  runtime::Slot<GatherFn> gather{"gather", parallel::gather};
  runtime::Slot<BroadcastFn> broadcast_coalesced{"broadcast_coalesced",
                                                 parallel::broadcast_coalesced};
  runtime::Slot<ReduceFn> reduce_add_coalesced{"reduce_add_coalesced",
                                               parallel::reduce_add_coalesced};
};
Primitives& primitives();

}  // namespace lockstep::parallel
