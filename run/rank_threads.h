// DistributedDataParallel with ranks as threads of one process (`--mode ddp`).
#pragma once

#include "run/data_sets.h"
#include "tracer/format/trace.h"

namespace lockstep::run {

/// Trains a rank per thread, each with a device of its own. The first failure of a rank
/// ends all and is rethrown. Returns rank 0's exit code.
int train_in_threads(const RunConfig& config, const DataSets& data,
                     tracer::Trace* trace);

}  // namespace lockstep::run
