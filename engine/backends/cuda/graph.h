// A captured graph, ready to launch.
#pragma once

#include <cuda_runtime.h>

#include "engine/runtime/driver.h"

namespace lockstep::cuda {

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

}  // namespace lockstep::cuda
