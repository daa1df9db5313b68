// The arithmetic of an operation.
#pragma once

#include "engine/backends/backend.h"

namespace lockstep::ops {

/// Returns nominal floating-point operations (a multiply-add counts two, padding counts
/// as data) of convolutions and linear layers; 0 for everything else.
int64_t flops_of(const PlanRequest& request);

}  // namespace lockstep::ops
