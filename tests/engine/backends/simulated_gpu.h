// A GPU made of a thread: the CUDA backend's plans and kernels (host_machine.h) behind
// the runtime's seam to hardware, so that what a GPU does out of turn happens here,
// too: a worker enqueues tasks and continues, and a queue runs them later.
#pragma once

#include <vector>

#include "engine/backends/load_cuda.h"
#include "tracer/record/device_activity.h"

namespace lockstep::test {

/// From now on CUDA devices of this process lie on such GPUs. Call it before the first
/// of them is used; later calls change nothing. As many devices as this have a GPU each
/// and a library of collectives, fewer or more of them have neither.
void simulate_gpus();
/// Adding up bytes fails there, as any launch may.
inline constexpr size_t kGpus = 3;
bool gpus_are_simulated();
/// What they are to the engine (engine/backends/load_cuda.h).
const CudaModule* simulated_module();

/// Has a profiler watch them, as CUPTI watches a GPU.
void simulate_profiler(bool on);
/// All that it has told the recorder since this was asked last.
std::vector<tracer::DeviceActivity> profiled_work();

}  // namespace lockstep::test
