// From recorded buffers to a trace.
#pragma once

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// Joins all threads' buffers into a trace's events (with process and thread names)
/// and empties them. Times count from the first `start_recording`.
/// REQUIRES: nothing records at the same time.
std::vector<Event> collect();

}  // namespace lockstep::tracer
