// Batch norm across the batches of all ranks (torch.nn.SyncBatchNorm): the operation
// and the functions that exchange data between ranks, which are *slots*
// (engine/runtime/slot.h).
#pragma once

#include <memory>
#include <source_location>

#include "engine/distributed/collectives/process_group.h"
#include "engine/nn/module.h"
#include "engine/ops/ops.h"
#include "engine/runtime/slot.h"

namespace lockstep::distributed {

/// Per-channel statistics of a batch, stored on a device.
struct BatchStatistics {
  Tensor mean;   ///< C values
  Tensor var;    ///< C values, biased: the mean of (x − mean)²
  Tensor count;  ///< one value: the number of elements per channel
};

/// Returns the statistics of the batches of all ranks combined, given this rank's.
/// Counts may differ between ranks. Must pass `label` to its collectives and wait for
/// them with `.wait()` (the device waits, the host continues).
using SyncStatistics = BatchStatistics(const BatchStatistics& mine, ProcessGroup& group,
                                       const CollectiveLabel& label);
runtime::Slot<SyncStatistics>& sync_statistics();

/// Sums required by the gradient of the input: C values each.
struct BackwardSums {
  Tensor dy;      ///< Σ dy
  Tensor dy_xmu;  ///< Σ dy · (x − mean)
};

/// Same as SyncStatistics, for the backward pass: returns the sums over all ranks.
using SyncBackwardSums = BackwardSums(const BackwardSums& mine, ProcessGroup& group,
                                      const CollectiveLabel& label);
runtime::Slot<SyncBackwardSums>& sync_backward_sums();

/// Same as ops::batch_norm in training mode, with the statistics of all ranks: y, the
/// gradient of x and the running statistics are those that one device would compute on
/// the batches of all ranks. The gradients of weight and bias are this rank's share;
/// DDP sums them. Must be called by every rank. `path` is the module's path, for the
/// trace. Source: torch/nn/modules/_functions.py, SyncBatchNorm (1.13).
Tensor sync_batch_norm(const Tensor& x, const ops::BatchNormState& state,
                       const std::shared_ptr<ProcessGroup>& group, const char* path,
                       double momentum = 0.1, double eps = 1e-5,
                       std::source_location site = std::source_location::current());

/// Converts every BatchNorm2d in `module` to SyncBatchNorm over the ranks of `group`
/// (nn/layers.h). Must be called by every rank. Returns the number converted.
int convert_sync_batchnorm(nn::Module& module,
                           const std::shared_ptr<ProcessGroup>& group);

}  // namespace lockstep::distributed
