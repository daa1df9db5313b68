// The training step as a single unit of work for the hardware: a CUDA graph.
#pragma once

#include <functional>

#include "engine/runtime/graph_capture.h"
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
/// All streams of the devices are captured, with the copies between the devices
/// (DataParallel) and the collectives of a rank (DDP), if these are work for hardware,
/// as NCCL's are. Requires devices with their own hardware; the step must not read
/// results or wait for other devices.
/// Source: torch.cuda.make_graphed_callables, CUDAGraph.
class StepGraph {
 public:
  /// `devices` are all that the step uses; images are on the first. The first
  /// `warm_ups` steps of a kind are not captured: DDP rebuilds its buckets in its
  /// second step.
  explicit StepGraph(std::vector<Device> devices, int warm_ups = 1)
      : devices_(std::move(devices)), warm_ups_(warm_ups) {}
  ~StepGraph();
  StepGraph(const StepGraph&) = delete;

  /// Forward, loss, backward and optimizer step.
  using Step = std::function<StepTensors(const Tensor& images, const Tensor& labels)>;

  /// Runs `step` on device tensors. The first steps for a batch size and learning rate
  /// run uncaptured, to create plans and persistent buffers. The next is captured; it
  /// and all later ones are replayed. Results are valid until the next call. Throws
  /// std::runtime_error if the step uses dropout, whose mask would be repeated.
  StepTensors run(const Tensor& images, const Tensor& labels, double lr,
                  const Step& step);

  int64_t replays() const { return replays_; }

 private:
  StepTensors run_uncaptured(const Tensor& images, const Tensor& labels,
                             const Step& step);
  void capture(const Tensor& images, const Tensor& labels, const Step& step);

  const std::vector<Device> devices_;
  const int warm_ups_;
  Shape sizes_;
  double lr_ = -1;
  bool owns_memory_ = false;  ///< in the devices' pools for graphs
  int warmed_up_ = 0;  ///< steps of this size and learning rate that ran uncaptured
  runtime::GraphPtr graph_;
  Tensor images_, labels_;  ///< inputs of the graph
  StepTensors results_;     ///< outputs of the graph
  std::vector<std::shared_ptr<runtime::Block>> workspaces_;
  int64_t replays_ = 0;
};

}  // namespace lockstep::train
