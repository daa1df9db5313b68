// SyncBatchNorm: batch norm whose batch is that of all ranks.
#pragma once

#include "engine/nn/layers.h"

namespace lockstep::nn {

/// Makes every BatchNorm2d in `module` (which may be one itself) PyTorch's
/// SyncBatchNorm: in training it calls `sync`, in evaluation it stays as it is. Returns
/// how many there are. Must be called before DistributedDataParallel wraps the module.
/// Python replaces the modules; here the members have types, so the modules themselves
/// change. `distributed::convert_sync_batchnorm` makes `sync` of a process group.
/// Source: torch/nn/modules/batchnorm.py, SyncBatchNorm.convert_sync_batchnorm.
int convert_sync_batchnorm(Module& module, const SyncBatchNorm& sync);

/// Returns whether `module` has a converted layer.
bool has_sync_batchnorm(const Module& module);

}  // namespace lockstep::nn
