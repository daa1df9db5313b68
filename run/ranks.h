// DistributedDataParallel with threads of one process as ranks (rank_threads.cpp), and
// with processes as ranks (rank_process.cpp).
#pragma once

#include "run/data_sets.h"
#include "tracer/format/trace.h"

namespace lockstep::run {

/// `--mode ddp`: trains one rank per thread, each on its own device. The first failure
/// of a rank ends all ranks and is rethrown. Returns rank 0's exit code.
int train_in_threads(const RunConfig& config, const DataSets& data,
                     tracer::Trace* trace);

/// Trains as one rank of several processes. Explains failures: which rank is to blame,
/// and at which collective. Returns the exit code. Throws std::runtime_error.
int train_in_process(const RunConfig& config, const RankPlace& place);

}  // namespace lockstep::run
