// Ranks that are slow on purpose (`train --slow-rank 2:3x`) stay slow when re-timed.
#pragma once

#include <string>

#include "tracer/emulate/retime.h"

namespace lockstep::tracer {

/// Returns `weights` with another duration of each kernel `lockstep::emulated_work`:
/// (slowness − 1) times the sum of what the kernels before it take, on its stream and
/// in its step. Where the trace does not record the slowness, it is what was recorded
/// (`dur`). Other durations stay as they are.
Weights with_slow_ranks(const Trace& trace, Weights weights);

/// Returns what is assumed about slow ranks; "" for a trace without any.
std::string slow_ranks_assumed(const Trace& trace);

}  // namespace lockstep::tracer
