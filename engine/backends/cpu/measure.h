// Choosing a kernel by trying all (`--benchmark`, torch.backends.cudnn.benchmark).
#pragma once

#include <vector>

#include "engine/backends/backend.h"

namespace lockstep::cpu {

/// Runs each plan (null ones are skipped) on memory of its own, prints their times and
/// returns the fastest. REQUIRES: nothing else runs, or the times mean little.
PlanPtr fastest(const PlanRequest& request, const std::vector<PlanPtr>& plans);

}  // namespace lockstep::cpu
