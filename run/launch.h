// One process per device: what torch.multiprocessing.spawn does for the ImageNet
// example, and what torchrun does.
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
  std::string endpoint;              ///< of rank 0; empty: a free port of this machine
  std::vector<std::string> command;  ///< what each process runs: train …
};

/// `lockstep launch`: starts one process per device, all again when one fails. Each
/// line of their output begins with the rank. Returns the exit code. Throws UsageError
/// for an endpoint that is not HOST:PORT.
int launch(const LaunchOptions& options);

/// A port of the loopback interface that is free now.
int free_port();

}  // namespace lockstep::run
