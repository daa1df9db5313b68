// Batch norm over the batches of all ranks (torch.nn.SyncBatchNorm): the operation, and
// the functions that exchange numbers between ranks, which are *slots*
// (engine/runtime/slot.h).
#pragma once

#include <memory>
#include <source_location>

#include "engine/distributed/collectives/process_group.h"
#include "engine/nn/module.h"
#include "engine/ops/ops.h"
#include "engine/runtime/slot.h"

namespace lockstep::distributed {

/// The statistics of a batch, by channel; on a device.
struct BatchStatistics {
  Tensor mean;   ///< C numbers
  Tensor var;    ///< C numbers, biased: the mean of (x − mean)²
  Tensor count;  ///< one number: how many elements each channel has
};

/// Returns the statistics of all ranks' batches together, given this rank's. The ranks'
/// counts may differ. Must give its collectives `label` and wait for them (`.wait()`:
/// the device waits, the host goes on).
using SyncStatistics = BatchStatistics(const BatchStatistics& mine, ProcessGroup& group,
                                       const CollectiveLabel& label);
runtime::Slot<SyncStatistics>& sync_statistics();

/// The sums that the gradient of the input needs: C numbers each.
struct BackwardSums {
  Tensor dy;      ///< Σ dy
  Tensor dy_xmu;  ///< Σ dy · (x − mean)
};

/// As SyncStatistics, in the backward pass: returns the sums over all ranks.
using SyncBackwardSums = BackwardSums(const BackwardSums& mine, ProcessGroup& group,
                                      const CollectiveLabel& label);
runtime::Slot<SyncBackwardSums>& sync_backward_sums();

/// ops::batch_norm in training, with the statistics of all ranks: y, the gradient of x
/// and the running statistics are those that one device would compute on all ranks'
/// batches. The gradients of weight and bias are this rank's part; DDP adds them up.
/// Every rank must call it. `path` is the module's, for the trace. Source:
/// torch/nn/modules/_functions.py, SyncBatchNorm (1.13).
Tensor sync_batch_norm(const Tensor& x, const ops::BatchNormState& state,
                       const std::shared_ptr<ProcessGroup>& group, const char* path,
                       double momentum = 0.1, double eps = 1e-5,
                       std::source_location site = std::source_location::current());

/// Makes every BatchNorm2d in `module` a SyncBatchNorm over the ranks of `group`
/// (nn/sync_batch_norm.h). Every rank must call it. Returns how many there are.
int convert_sync_batchnorm(nn::Module& module,
                           const std::shared_ptr<ProcessGroup>& group);

}  // namespace lockstep::distributed
