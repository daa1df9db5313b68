// SyncBatchNorm: batch norm with statistics over the batches of all ranks.
#pragma once

#include "engine/nn/layers.h"

namespace lockstep::nn {

/// Turns every BatchNorm2d in `module` (or `module` itself) into PyTorch's
/// SyncBatchNorm: it calls `sync` in training mode; evaluation is unchanged. Returns
/// the number converted. Must be called before DistributedDataParallel wraps `module`.
/// Python replaces the modules; here members are statically typed, so layers change in
/// place. `distributed::convert_sync_batchnorm` makes `sync` for a process group.
/// Source: torch/nn/modules/batchnorm.py, SyncBatchNorm.convert_sync_batchnorm.
int convert_sync_batchnorm(Module& module, const SyncBatchNorm& sync);

/// Returns whether `module` contains a converted layer.
bool has_sync_batchnorm(const Module& module);

}  // namespace lockstep::nn
