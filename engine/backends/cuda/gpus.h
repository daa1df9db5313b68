// The GPUs of this machine and their assignment to devices.
#pragma once

#include <string>
#include <vector>

#include "engine/tensor/types.h"

namespace lockstep::cuda {

struct Gpus {
  std::vector<std::string> names;
  std::string why_not;  ///< if there is no GPU: one line with the fix
};
/// Returns the GPUs of this machine. Queries the driver only once.
const Gpus& gpus();

/// Returns the GPU of a device (see gpu_of_device in load_cuda.h).
int gpu_of(Device device);

/// Makes `gpu` current for the calling thread until the end of the scope. If the thread
/// had no current GPU, `gpu` stays current: restoring CUDA's default would create a
/// context on GPU 0, which costs hundreds of megabytes per process.
class GpuScope {
 public:
  explicit GpuScope(int gpu);
  ~GpuScope();
  GpuScope(const GpuScope&) = delete;

 private:
  int outer_;
};

/// Returns the first GPU with a queue (or GPU 0), for queries that any GPU can answer.
int planning_gpu();
void use_for_planning(int gpu);

}  // namespace lockstep::cuda
