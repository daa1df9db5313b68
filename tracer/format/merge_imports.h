// What `merge_traces` does for files of PyTorch's profiler, whose ranks know nothing of
// each other.
#pragma once

#include <string>
#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// Throws std::runtime_error if the imported files are not from one job: they state
/// different numbers of ranks, or were recorded more than a minute apart.
void check_one_job(const std::vector<Trace>& ranks,
                   const std::vector<std::string>& names);

/// Lists the devices of all imported ranks in the first one. If several ranks have a
/// device of the same number (on different machines, or with CUDA_VISIBLE_DEVICES),
/// renumbers all devices in the order of the ranks: device 0 of rank 1 becomes
/// device 1, named `GPU 0 of rank 1`.
void qualify_devices(std::vector<Trace>& ranks);

}  // namespace lockstep::tracer
