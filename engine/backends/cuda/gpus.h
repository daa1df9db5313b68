// The GPUs of this machine, and which of them a device is.
#pragma once

#include <string>
#include <vector>

#include "engine/tensor/device.h"

namespace lockstep::cuda {

struct Gpus {
  std::vector<std::string> names;
  std::string why_not;  ///< no GPU: one line that ends in the mend
};
/// Asks the driver, once.
const Gpus& gpus();

/// Device i lies on GPU i; with fewer GPUs than devices several share one.
int gpu_of(Device device);

/// Makes the GPU of `device` the calling thread's, until the scope's end.
class GpuScope {
 public:
  explicit GpuScope(int gpu);
  ~GpuScope();
  GpuScope(const GpuScope&) = delete;

 private:
  int outer_ = 0;
};

}  // namespace lockstep::cuda
