// DistributedDataParallel with ranks as processes.
#pragma once

#include "run/rank_place.h"

namespace lockstep::run {

/// Trains as one rank of several processes. What goes wrong is explained: which rank is
/// to blame, and at which collective. Throws std::runtime_error.
int train_in_process(const RunConfig& config, const RankPlace& place);

}  // namespace lockstep::run
