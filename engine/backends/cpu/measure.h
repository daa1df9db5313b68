// Chooses a kernel by timing all candidates (`--benchmark`, like
// torch.backends.cudnn.benchmark).
#pragma once

#include <vector>

#include "engine/backends/backend.h"

namespace lockstep::cpu {

/// Runs each plan (skipping null) on separate memory, prints the times and returns the
/// fastest. REQUIRES: nothing else is running; otherwise, the times are unreliable.
PlanPtr fastest(const PlanRequest& request, const std::vector<PlanPtr>& plans);

}  // namespace lockstep::cpu
