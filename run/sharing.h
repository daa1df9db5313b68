// How the ranks of a run share the model's weights, if not by DDP.
#pragma once

#include "engine/sharing/sharing.h"
#include "run/config.h"
#include "run/rank_place.h"

namespace lockstep::run {

/// Returns what creates the rank's object; empty with DDP and without ranks.
sharing::MakeSharing sharing_of(const RunConfig& config, const RankPlace& place);

/// Returns the model that all `world` ranks of this process train; null in modes in
/// which each trains its own.
std::shared_ptr<sharing::SharedModel> shared_model_of(const RunConfig& config,
                                                      int world);

}  // namespace lockstep::run
