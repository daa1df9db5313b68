// Ranks that were started one by one may have been told different things.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/run_options.h"
#include "engine/distributed/rendezvous/store.h"

namespace lockstep::cli {

/// Flags (or other facts) and their values, in order.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// What must be alike on all ranks, or their gradients would not belong together.
Facts shared_options(const RunOptions& options);

/// Waits until all ranks have come here, each with its facts `about` something. Throws
/// on every rank the same words if one has others than rank 0, and StoreTimeout, whose
/// keys are `about/RANK`, if one does not come.
void agree(distributed::Store& store, const std::string& about, const Facts& facts,
           int rank, int world, Milliseconds timeout);

}  // namespace lockstep::cli
