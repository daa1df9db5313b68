// Floating-point operation counts.
#pragma once

#include "engine/backends/backend.h"

namespace lockstep::ops {

/// Returns the nominal number of floating-point operations of a convolution or linear
/// layer (a multiply-add counts as two, padding as data); 0 for everything else.
int64_t flops_of(const PlanRequest& request);

}  // namespace lockstep::ops
