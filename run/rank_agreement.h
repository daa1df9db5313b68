// Verifies that all ranks have the same options: they may be started separately.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/distributed/rendezvous/store.h"
#include "run/config.h"

namespace lockstep::run {

/// Flags (or other facts) and their values, in a fixed order.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// Returns the options that must be equal on all ranks for their gradients to match.
Facts shared_options(const RunConfig& config);

/// Waits until every rank has called this function with its facts about the topic
/// `about`. Throws the same std::runtime_error on every rank if any rank's facts differ
/// from rank 0's, and StoreTimeout, whose keys are `about/RANK`, if a rank does not
/// arrive.
void agree(distributed::Store& store, const std::string& about, const Facts& facts,
           int rank, int world, Milliseconds timeout);

}  // namespace lockstep::run
