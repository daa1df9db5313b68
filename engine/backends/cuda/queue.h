// The runtime's driver on GPUs (engine/runtime/driver.h): queues, with everything that
// their workers need to launch kernels, and graphs.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cudnn.h>

#include <vector>

#include "engine/backends/cuda/kernels/loss.h"
#include "engine/backends/cuda/marks.h"
#include "engine/runtime/driver.h"
#include "engine/tensor/types.h"

namespace lockstep::cuda {

/// A stream's queue. Never destroyed; neither are its stream and handles.
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
  /// Returns `kMostSharedTiles` tickets (gpu_launch.h). Between kernels all are 0.
  unsigned* tickets() const { return tickets_; }

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
  unsigned* tickets_ = nullptr;  ///< in the GPU's memory
};

/// A captured graph, ready to launch.
/// Source: CUDA Programming Guide, "CUDA Graphs"; torch/csrc/cuda/CUDAGraph.cpp (ATen).
class CudaGraph : public runtime::Graph {
 public:
  /// Takes ownership of `captured`.
  explicit CudaGraph(cudaGraph_t captured);
  ~CudaGraph() override;
  CudaGraph(const CudaGraph&) = delete;

  cudaGraphExec_t executable() const { return executable_; }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

/// Runs the runtime's streams on GPUs.
struct CudaDriver : runtime::Driver {
  void* allocate(Device device, size_t bytes) override;
  void free(Device device, void* data) noexcept override;
  std::unique_ptr<runtime::Queue> make_queue(Device device) override;
  runtime::Queue& current_queue() override;
  void copy(void* to, Device to_device, const void* from, Device from_device,
            size_t bytes) override;
  void reduce(void* into, Device into_device, const void* from, Device from_device,
              int64_t numel, DType dtype, ReduceOp op) override;
  /// All GPUs of the process can read it. Never destroyed.
  runtime::PinnedMemory* pinned_memory() override;
  void copy_pinned(void* to, Device to_device, const void* from, size_t bytes) override;
};

}  // namespace lockstep::cuda
