// A stream's queue on a GPU, with everything its worker needs to launch kernels.
#pragma once

#include <cublas_v2.h>
#include <cudnn.h>

#include <vector>

#include "engine/backends/cuda/kernels/loss.h"
#include "engine/backends/cuda/marks.h"
#include "engine/runtime/driver.h"
#include "engine/tensor/types.h"

namespace lockstep::cuda {

/// Never destroyed; neither are its stream and handles.
class CudaQueue : public runtime::Queue {
 public:
  explicit CudaQueue(Device device);

  void bind() override;
  void wait(const runtime::Mark& mark) override;
  runtime::MarkPtr mark(bool timed) override;
  void begin_capture() override;
  runtime::GraphPtr end_capture() override;
  void launch(const runtime::Graph& graph) override;
  void begin_range(const char* name) override;
  void end_range() override;

  /// Returns the calling worker's queue. Throws std::runtime_error on any other thread.
  static CudaQueue& current();

  int gpu() const { return gpu_; }
  cudaStream_t stream() const { return stream_; }
  cudnnHandle_t cudnn();    ///< created on first use: most queues only copy
  cublasHandle_t cublas();  ///< likewise

  /// Copies from main memory; `from` may be reused on return.
  void copy_from_host(void* to, const void* from, size_t bytes);
  /// Copies to main memory and returns when the copy is complete. Throws if a kernel of
  /// this device has reported an error (kernels/loss.h).
  void copy_to_host(void* to, const void* from, size_t bytes);
  /// Returns the object in which this device's kernels report errors.
  Fault* fault() const { return fault_; }

 private:
  /// Page-locked main memory that the GPU accesses directly.
  struct Staging {
    void* data = nullptr;
    size_t capacity = 0;
    cudaEvent_t in_use = nullptr;  ///< recorded after the last use
  };
  Staging& staging(size_t bytes);
  void throw_fault();

  const Device device_;
  const int gpu_;
  cudaStream_t stream_ = nullptr;
  cudnnHandle_t cudnn_ = nullptr;
  cublasHandle_t cublas_ = nullptr;
  std::vector<Staging> staging_;
  size_t next_staging_ = 0;
  Fault* fault_ = nullptr;
};

}  // namespace lockstep::cuda
