// The GPUs of this machine, and which of them a device is.
#pragma once

#include <string>
#include <vector>

#include "engine/tensor/device.h"

namespace lockstep::cuda {

struct Gpus {
  std::vector<std::string> names;
  std::string why_not;  ///< no GPU: one line that ends in the fix
};
/// Asks the driver, once.
const Gpus& gpus();

/// Device i lies on GPU i; with fewer GPUs than devices several share one.
int gpu_of(Device device);

/// Makes `gpu` the calling thread's, until the scope's end. A thread that had none
/// keeps it: to go back to CUDA's default would open a context on GPU 0, which costs
/// hundreds of megabytes there, in each process.
class GpuScope {
 public:
  explicit GpuScope(int gpu);
  ~GpuScope();
  GpuScope(const GpuScope&) = delete;

 private:
  int outer_;
};

/// For questions that any GPU can answer: the first one that a queue was made for.
int planning_gpu();
void use_for_planning(int gpu);

}  // namespace lockstep::cuda
