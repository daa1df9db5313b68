// DistributedDataParallel with ranks as processes.
#pragma once

#include <optional>
#include <string>

#include "cli/run_options.h"

namespace lockstep::cli {

/// Which rank this process is, and where the ranks meet.
struct ProcessRank {
  int rank = 0, world = 1;
  int local_rank = 0, local_world = 1;
  std::string init;  ///< tcp://…, file://… or env://
};

/// Set for the processes that `--multiprocessing-distributed` and `launch` start, and
/// by `--world-size` with `--rank` when the user starts every process.
std::optional<ProcessRank> process_rank(const RunOptions& options);

/// Trains as one rank of several processes. What goes wrong is explained: which rank is
/// to blame, and at which collective. Throws std::runtime_error.
int train_in_process(const RunOptions& options, const ProcessRank& place);

/// `--multiprocessing-distributed`: starts one process per device of this node, waits
/// for them, and ends them all if one fails. Returns the exit code.
int spawn_ranks(const RunOptions& options);

}  // namespace lockstep::cli
