// The bubble of a pipeline in words.
#pragma once

#include <string>

#include "tracer/analysis/pipeline.h"

namespace lockstep::tracer {

/// Returns the bubble as a share of devices x length: "27.3 %", or "45.1 %: waiting for
/// a core 20.3 %, all else 24.8 %", since devices of their own need no core of the
/// host, and a launch is no wait of the schedule's. The parts add up to the whole as
/// printed.
std::string bubble_text(const SlotTimes& times);

}  // namespace lockstep::tracer
