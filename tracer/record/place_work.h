// Puts events where hardware says that their work was.
#pragma once

#include "tracer/format/trace.h"
#include "tracer/record/hardware_work.h"

namespace lockstep::tracer {

/// Moves each kernel, copy and collective of which there is `work` (on the events'
/// clock, in any order) to its first begin and last end; `cpu_us` becomes the time that
/// hardware was busy, `activities` the number of pieces. The others stay, and so does a
/// collective whose messages were seen: host and hardware do that together.
///
/// The order of streams, of what waits for what and of host waits holds on, although
/// two clocks agree to a microsecond only: where they differ, order counts.
void place_work(std::vector<Event>& events, const std::vector<HardwareWork>& work);

}  // namespace lockstep::tracer
