// The training step as one unit of work for the hardware: a CUDA graph.
#pragma once

#include <functional>

#include "engine/runtime/driver.h"
#include "engine/tensor/tensor.h"

namespace lockstep::runtime {
struct Block;
}

namespace lockstep::train {

/// What a training step leaves on the device.
struct StepTensors {
  Tensor output, loss, acc1, acc5;
};

/// A small net on a fast GPU is bound by the host, which launches more than a hundred
/// kernels for every step. They are the same in every step, so they are captured once
/// and replayed by one launch. Numbers that kernels take as arguments are captured with
/// them: another learning rate makes a new graph. A batch of another size runs
/// uncaptured, and the graph stays.
///
/// For one device with hardware of its own; the step must neither read results nor wait
/// for other devices. Source: torch.cuda.make_graphed_callables, torch.cuda.CUDAGraph.
class StepGraph {
 public:
  /// forward, loss, backward and the optimizer's step
  using Step = std::function<StepTensors(const Tensor& images, const Tensor& labels)>;

  /// Runs `step` on tensors of the device. The first step of a kind runs uncaptured: it
  /// makes plans and lasting buffers. The second is captured, and replayed from there
  /// on. The next call overwrites the results. Throws std::runtime_error if the step
  /// uses dropout, whose mask would be replayed.
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
  Tensor images_, labels_;  ///< where the graph reads
  StepTensors results_;     ///< where it writes
  std::shared_ptr<runtime::Block> workspace_;
  int64_t replays_ = 0;
};

}  // namespace lockstep::train
