// A GPU simulated by a thread: the CUDA backend's plans and kernels (host_machine.h)
// behind the runtime's hardware interface. It runs asynchronously like a GPU: a worker
// enqueues tasks and continues, and a queue runs them later.
#pragma once

#include <vector>

#include "engine/backends/load_cuda.h"
#include "tracer/record/device_activity.h"

namespace lockstep::test {

/// Makes this process's CUDA devices run on simulated GPUs. Must be called before the
/// first one is used; later calls have no effect. With exactly kGpus devices, each has
/// its own GPU and collectives use a library; otherwise neither. Launches that add u8
/// values fail, to simulate a failing launch.
void simulate_gpus();
inline constexpr size_t kGpus = 3;
bool gpus_are_simulated();
/// Returns how many marks (CUDA events) have been recorded in all queues.
int64_t marks_recorded();
/// Returns how many copies have read pinned memory directly.
int64_t direct_copies();
/// While paused, simulated GPUs take no further work from their queues.
void pause_gpus(bool paused);
/// Returns how many kernels `--benchmark` chose while other work was unfinished.
int64_t disturbed_choices();
/// The simulated GPUs as the module that the engine loads
/// (engine/backends/load_cuda.h).
const CudaModule* simulated_module();

/// Enables or disables a simulated profiler, the counterpart of CUPTI.
void simulate_profiler(bool on);
/// Returns everything that the profiler has reported to the recorder since the last
/// call.
std::vector<tracer::DeviceActivity> profiled_work();

}  // namespace lockstep::test
