// Times cuDNN's plans on memory of their own, for `--benchmark`.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <memory>

#include "engine/backends/cuda/cudnn_graph.h"

namespace lockstep::cuda {

/// Memory for the three tensors of a convolution and a workspace, filled with zeros.
/// REQUIRES: the GPU on which it was made is current in all calls.
class ConvolutionMemory {
 public:
  /// Returns null if too little memory is free.
  static std::unique_ptr<ConvolutionMemory> make(const Convolution& problem,
                                                 size_t workspace);
  ~ConvolutionMemory();
  ConvolutionMemory(const ConvolutionMemory&) = delete;

  /// Returns the least time of several executions on the handle's stream, in µs. Blocks
  /// until they have completed.
  double time(const ExecutionPlan& plan, cudnnHandle_t handle) const;

 private:
  ConvolutionMemory() = default;

  std::array<void*, 4> blocks_{};  ///< a, b, c, workspace
};

}  // namespace lockstep::cuda
