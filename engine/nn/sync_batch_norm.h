// SyncBatchNorm: batch norm whose batch is that of all ranks.
#pragma once

#include "engine/nn/layers.h"

namespace lockstep::nn {

/// From now on every BatchNorm2d in `module` (which may be one itself) is PyTorch's
/// SyncBatchNorm over `process_group`: in training it normalises by the statistics of
/// all ranks' batches. Returns how many there are. Every rank must convert, before
/// DistributedDataParallel wraps the module. Python puts new modules into the old ones'
/// places; here the members have types, so the modules themselves change.
/// Source: torch/nn/modules/batchnorm.py, SyncBatchNorm.convert_sync_batchnorm.
int convert_sync_batchnorm(
    Module& module, const std::shared_ptr<distributed::ProcessGroup>& process_group);

/// Is there a converted layer in it?
bool has_sync_batchnorm(const Module& module);

}  // namespace lockstep::nn
