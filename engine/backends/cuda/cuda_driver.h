// The driver that runs the runtime's streams on GPUs (engine/runtime/driver.h).
#pragma once

#include "engine/runtime/driver.h"

namespace lockstep::cuda {

struct CudaDriver : runtime::Driver {
  void* allocate(Device device, size_t bytes) override;
  void free(Device device, void* data) noexcept override;
  std::unique_ptr<runtime::Queue> make_queue(Device device) override;
  runtime::Queue& current_queue() override;
  void copy(void* to, Device to_device, const void* from, Device from_device,
            size_t bytes) override;
  void reduce(void* into, Device into_device, const void* from, Device from_device,
              int64_t numel, DType dtype, ReduceOp op) override;
};

}  // namespace lockstep::cuda
