// What the tasks of a trace take on hardware of their own: shared by emulate() and the
// compact re-timing of symmetric ranks.
#pragma once

#include "tracer/emulate/emulate.h"
#include "tracer/emulate/retime.h"

namespace lockstep::tracer {

/// Returns the durations and delays that emulate() uses, without ports and shared
/// links.
Weights own_hardware(const EmulateOptions& options);

/// Returns latency + bytes / bandwidth, in ns.
int64_t copy_time(double bytes, const Link& link);

}  // namespace lockstep::tracer
