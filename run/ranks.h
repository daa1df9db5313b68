// DistributedDataParallel with ranks as threads of one process (rank_threads.cpp) and
// as processes (rank_process.cpp).
#pragma once

#include "run/data_sets.h"
#include "tracer/format/trace.h"

namespace lockstep::run {

/// `--mode ddp`: trains a rank per thread, each with a device of its own. The first
/// failure of a rank ends all and is rethrown. Returns rank 0's exit code.
int train_in_threads(const RunConfig& config, const DataSets& data,
                     tracer::Trace* trace);

/// Trains as one rank of several processes. What goes wrong is explained: which rank is
/// to blame, and at which collective. Returns the exit code. Throws std::runtime_error.
int train_in_process(const RunConfig& config, const RankPlace& place);

}  // namespace lockstep::run
