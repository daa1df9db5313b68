// This machine's GPUs, and their assignment to devices.
#pragma once

#include <string>
#include <vector>

#include "engine/tensor/device.h"

namespace lockstep::cuda {

struct Gpus {
  std::vector<std::string> names;
  std::string why_not;  ///< no GPU: one line that ends with the fix
};
/// Queries the driver once.
const Gpus& gpus();

/// Device i is on GPU i; with fewer GPUs than devices, several share one.
int gpu_of(Device device);

/// Makes `gpu` current for the calling thread until the end of the scope. A thread
/// without a current GPU keeps it: restoring CUDA's default would create a context on
/// GPU 0, which costs hundreds of megabytes per process.
class GpuScope {
 public:
  explicit GpuScope(int gpu);
  ~GpuScope();
  GpuScope(const GpuScope&) = delete;

 private:
  int outer_;
};

/// For queries that any GPU can answer: the first GPU for which a queue was created.
int planning_gpu();
void use_for_planning(int gpu);

}  // namespace lockstep::cuda
