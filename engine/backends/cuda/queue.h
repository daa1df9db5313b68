// A stream's queue on a GPU, with all that its worker needs to launch kernels there.
#pragma once

#include <cublas_v2.h>
#include <cudnn.h>

#include <vector>

#include "engine/backends/cuda/kernels/loss.h"
#include "engine/backends/cuda/marks.h"
#include "engine/runtime/driver.h"
#include "engine/tensor/device.h"

namespace lockstep::cuda {

/// Lasts as long as the process, and so do its stream and handles.
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

  /// The queue of the calling worker. Throws on any other thread.
  static CudaQueue& current();

  int gpu() const { return gpu_; }
  cudaStream_t stream() const { return stream_; }
  cudnnHandle_t cudnn();    ///< made on first use: most queues only copy
  cublasHandle_t cublas();  ///< likewise

  /// From main memory; `from` is free again on return.
  void copy_from_host(void* to, const void* from, size_t bytes);
  /// To main memory; returns when it is there. Throws what kernels of this device
  /// reported since (kernels/loss.h).
  void copy_to_host(void* to, const void* from, size_t bytes);
  /// Where kernels of this device report.
  Fault* fault() const { return fault_; }

 private:
  /// Page-locked main memory, which the GPU reads and writes by itself.
  struct Staging {
    void* data = nullptr;
    size_t capacity = 0;
    cudaEvent_t in_use = nullptr;  ///< until this
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
