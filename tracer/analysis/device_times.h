// What the devices of a recording did with their time, step or no step.
#pragma once

#include <vector>

#include "tracer/format/lanes.h"

namespace lockstep::tracer {

/// One device over a whole recording. Times in ns; tasks of one kind that overlap count
/// once.
struct DeviceTimes {
  int64_t rank = 0, device = 0;
  int64_t recorded = 0;       ///< from its first task's start to its last task's end
  int64_t computing = 0;      ///< time in which a kernel ran (not a copy or memset)
  int64_t communicating = 0;  ///< … a collective
  int64_t both = 0;           ///< … a kernel and a collective
  int64_t memory = 0;         ///< … a copy or a memset
  int64_t idle = 0;           ///< … nothing
  int64_t kernels = 0, collectives = 0, copies = 0, memsets = 0;  ///< how many
};

/// Returns the devices sorted by rank and number. A copy to the host counts for the
/// device that sends it.
std::vector<DeviceTimes> device_times(const Trace& trace, const Lanes& lanes);

}  // namespace lockstep::tracer
