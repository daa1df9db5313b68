// One training step: forward, loss, backward, optimizer.
#pragma once

#include <functional>
#include <optional>

#include "engine/nn/module.h"
#include "engine/optim/adaptive.h"
#include "engine/optim/clip_grad_norm.h"
#include "engine/optim/weight_average.h"
#include "engine/parallel/loss_in_forward.h"
#include "engine/parallel/pipeline_model.h"
#include "engine/sharing/hybrid_update.h"
#include "engine/sharing/sharing.h"
#include "engine/train/step_graph.h"

namespace lockstep::train {

struct TrainStepOptions {
  double label_smoothing = 0;            ///< see ops::cross_entropy; also in evaluation
  std::optional<double> clip_grad_norm;  ///< see optim::clip_grad_norm_
  optim::SumOverRanks sum_over_ranks;    ///< of a pipeline's ranks, for that norm
  bool accuracy = true;                  ///< whether to compute `acc1` and `acc5`
  /// Of a CUDA graph (step_graph.h) that replays the step unless recording; empty:
  /// there is none.
  std::vector<Device> graph_devices;
  int graph_warm_ups = 1;                   ///< see StepGraph
  std::function<void()> before_replay;      ///< also called before a capture
  sharing::Sharing* sharing = nullptr;      ///< of a rank; see engine/sharing
  sharing::HybridUpdate* hybrid = nullptr;  ///< of the replicas of a model's features
  optim::WeightAverage* average = nullptr;
};

/// The position of a batch within its optimizer step (gradient accumulation).
struct Turn {
  bool first = true, last = true;
  int64_t batches = 1;
};

/// The work of a training loop on a batch that is already on the device. Shared by the
/// ImageNet example's loop, the CUDA graph and `bench-step`. Each part is a phase in
/// the trace.
class TrainStep {
 public:
  /// Called after the loss has been enqueued and before the backward pass is. A loop
  /// that reads the loss here waits for the forward pass. A replayed step calls it at
  /// the end.
  using Read = std::function<void(const StepTensors&)>;

  /// `callable` is `model` or a wrapper around it. With a DataParallelModel, the loss
  /// is that of a DataParallelCriterion, and accuracies are those of the whole batch.
  /// With a LossInForward, its replicas compute the loss.
  /// With a PipelineModel, `run` calls `read` at the end, since forward and backward
  /// passes take turns; if its ranks are processes, only the one with the last stage
  /// has a loss and calls `read`.
  /// The optimizer updates the parameters of `model`.
  TrainStep(nn::ModulePtr model, nn::ModulePtr callable,
            const optim::AnyOptions& optimizer, const TrainStepOptions& options);

  /// Enqueues the whole step; blocks only if `read` does.
  StepTensors run(const Tensor& images, const Tensor& labels, const Turn& turn = {},
                  const Read& read = {});
  /// Enqueues only the forward pass and the loss.
  StepTensors evaluate(const Tensor& images, const Tensor& labels,
                       const Read& read = {});

  optim::Optimizer& optimizer() { return *optimizer_; }
  const StepGraph& graph() const { return graph_; }

 private:
  StepTensors enqueue(const Tensor& images, const Tensor& labels, const Turn& turn,
                      const Read& read);
  StepTensors evaluate_on_each(const Tensor& images, const Tensor& labels,
                               const Read& read);
  StepTensors evaluate_inside(const Tensor& images, const Tensor& labels,
                              const Read& read);
  StepTensors run_pipeline(const Tensor& images, const Tensor& labels, const Turn& turn,
                           const Read& read);
  StepTensors evaluate_pipeline(const Tensor& images, const Tensor& labels,
                                const Read& read);
  void backward(StepTensors& made, const Turn& turn);
  void update();

  const nn::ModulePtr model_, callable_;
  parallel::DataParallelModel* const outputs_stay_;  ///< `callable_`, or null
  parallel::LossInForward* const loss_inside_;       ///< `callable_`, or null
  parallel::PipelineModel* const pipeline_;          ///< `callable_`, or null
  const TrainStepOptions options_;
  const std::unique_ptr<optim::Optimizer> optimizer_;
  StepGraph graph_;
};

}  // namespace lockstep::train
