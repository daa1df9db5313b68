// Kernels that take longer because the devices of a machine share it: its caches,
// memory and clock.
#pragma once

#include <string>

#include "tracer/emulate/hardware/hardware.h"
#include "tracer/emulate/retime.h"

namespace lockstep::tracer {

/// Returns `weights` with the hardware's contention. Only programs that were
/// constructed from one device get it: kernels that were recorded on several devices
/// took that time already. `trace` and `hardware` must outlive the result.
Weights with_contention(const Hardware& hardware, const Trace& trace, Weights weights);

/// Returns what is assumed of such programs, as a part of a sentence; "" if the
/// hardware has no contention.
std::string contention_assumed(const Hardware& hardware);

}  // namespace lockstep::tracer
