// What ranks that are processes tell each other after their last step. Each function is
// called by all of them; without processes, it concerns this process only.
#pragma once

#include "run/config.h"
#include "run/rank_place.h"
#include "run/recording.h"

namespace lockstep::run {

/// Counts the images skipped by this process, or by all if ranks are processes.
int64_t skipped_by_all(const RunConfig& config, const RankPlace& place, Device device);

/// Returns whether rank 0, which alone has --save among its options, writes weights.
bool is_saved(const RunConfig& config, const RankPlace& place, Device device);

/// If ranks are processes, each has recorded only its own device.
void share_with_ranks(Recording& recording, const RankPlace& place, Device device,
                      int64_t skipped);

}  // namespace lockstep::run
