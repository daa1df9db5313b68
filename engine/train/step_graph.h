// The training step as a single unit of work for the hardware: a CUDA graph.
#pragma once

#include <functional>

#include "engine/runtime/driver.h"
#include "engine/tensor/tensor.h"

namespace lockstep::runtime {
struct Block;
}

namespace lockstep::train {

/// The results of a training step, on the device.
struct StepTensors {
  Tensor output, loss, acc1, acc5;  ///< `output` is undefined if it was not gathered
};

/// A small network on a fast GPU is host-bound: the host launches more than a hundred
/// kernels per step. They are the same in every step, so they are captured once and
/// then replayed with a single launch. Kernel arguments are captured as well, so a new
/// learning rate requires a new graph. A batch of a different size runs uncaptured and
/// leaves the graph unchanged.
///
/// Requires a single device with its own hardware; the step must not read results or
/// wait for other devices. Source: torch.cuda.make_graphed_callables, CUDAGraph.
class StepGraph {
 public:
  /// Forward, loss, backward and optimizer step.
  using Step = std::function<StepTensors(const Tensor& images, const Tensor& labels)>;

  /// Runs `step` on device tensors. The first step for a batch size and learning rate
  /// runs uncaptured, to create plans and persistent buffers. The second is captured;
  /// it and all later ones are replayed. Results are valid until the next call. Throws
  /// std::runtime_error if the step uses dropout, whose mask would be repeated.
  StepTensors run(const Tensor& images, const Tensor& labels, double lr,
                  const Step& step);

  int64_t replays() const { return replays_; }

 private:
  StepTensors first_of_a_kind(const Tensor& images, const Tensor& labels,
                              const Step& step);
  void capture(const Tensor& images, const Tensor& labels, const Step& step);

  Shape sizes_;
  double lr_ = -1;
  runtime::GraphPtr graph_;
  Tensor images_, labels_;  ///< inputs of the graph
  StepTensors results_;     ///< outputs of the graph
  std::shared_ptr<runtime::Block> workspace_;
  int64_t replays_ = 0;
};

}  // namespace lockstep::train
