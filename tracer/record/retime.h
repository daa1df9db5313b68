// Corrects the times of device events using the times reported by the profiler.
#pragma once

#include "tracer/format/trace.h"
#include "tracer/record/device_activity.h"

namespace lockstep::tracer {

/// Moves each kernel, copy and collective that has `activities` (times on the events'
/// clock, in any order) to their first begin and last end. Sets `cpu_us` to the time
/// the device was busy and `activities` to their number. Other events keep their times,
/// as does a collective whose messages were measured: it is shared by host and device.
///
/// Preserves the order of streams, dependencies and host waits. The two clocks agree to
/// about a microsecond; if the times contradict the order, the order takes precedence.
void retime_events(std::vector<Event>& events,
                   const std::vector<DeviceActivity>& activities);

}  // namespace lockstep::tracer
