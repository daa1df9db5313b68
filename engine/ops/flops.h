// How much arithmetic an operation does.
#pragma once

#include "engine/backends/backend.h"

namespace lockstep::ops {

/// Nominal floating-point operations (a multiply-add counts two; padding counted as if
/// it were data) of convolutions and linear layers; 0 for everything else.
int64_t flops_of(const PlanRequest& request);

}  // namespace lockstep::ops
