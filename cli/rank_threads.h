// DistributedDataParallel with ranks as threads of one process (`--mode ddp`).
#pragma once

#include <functional>

#include "cli/run_options.h"
#include "tracer/format/trace.h"

namespace lockstep::cli {

/// What surrounds a rank's steps.
struct RecordingHooks {
  bool records = true;  ///< this rank writes trace and summary
  /// Called when the trainer's own hooks are set, to put more around them.
  std::function<void(train::Trainer&)> around = [](train::Trainer&) {};
};

/// Trains one rank to the end (train_command.cpp). Returns the exit code.
int train_rank(const RunOptions& options, const DataSets& data, const RankPlace& place,
               const RecordingHooks& hooks, tracer::Trace* trace);

/// A thread for each rank, each with a device of its own. The first failure of a rank
/// ends all and is rethrown.
int train_in_threads(const RunOptions& options, const DataSets& data,
                     tracer::Trace* trace);

}  // namespace lockstep::cli
