// Starts one process per device, as torch.multiprocessing.spawn does for the ImageNet
// example, and as torchrun does.
#pragma once

#include <string>
#include <vector>

#include "run/config.h"

namespace lockstep::run {

/// `--multiprocessing-distributed`: starts one process per device of this node, waits
/// for them, and ends them all if one fails. Returns the exit code.
int spawn_ranks(const RunConfig& config);

struct LaunchOptions {
  int per_node = 1, nodes = 1, node = 0, max_restarts = 0;
  std::string endpoint;              ///< rank 0's; empty: a free port on this machine
  std::string id = "none";           ///< of the job, for its processes
  std::vector<std::string> command;  ///< what each process runs: train …
};

/// `lockstep launch`: starts one process per device, and restarts all when one fails.
/// Prefixes each line of their output with the rank. Returns the exit code. Throws
/// UsageError if the endpoint is not HOST:PORT.
int launch(const LaunchOptions& options);

/// Returns a currently free port of the loopback interface.
int free_port();

}  // namespace lockstep::run
