// Model parallelism: the layers of one model are on several devices, and micro-batches
// pass through them in the order of a schedule.
#pragma once

#include <functional>
#include <optional>

#include "engine/ops/copy.h"
#include "engine/parallel/primitives.h"
#include "engine/parallel/stage_links.h"
#include "engine/parallel/stages.h"
#include "engine/plan/pipeline.h"

namespace lockstep::tracer {
class HostEvent;
}

namespace lockstep::parallel {

struct PipelineOptions {
  std::vector<std::string> cuts;    ///< the parts that begin a stage; see Stage
  plan::PipelineSchedule schedule;  ///< obeys plan::broken_rule; only F and B
  std::string name;                 ///< of the schedule, for the trace: `1f1b`

  // If the ranks of the pipeline are processes:
  std::shared_ptr<StageLinks> links = nullptr;  ///< of this rank
  std::vector<int64_t> image_shape = {};        ///< C,H,W
};

/// A model whose stages are on different devices from the start. One host thread
/// enqueues the actions of all ranks; devices work at the same time because kernels and
/// copies are asynchronous. Rank r is devices[r], which runs its actions in the order
/// of the schedule. Names of parameters are those of the model.
///
/// With `links`, each rank is a process (or a thread) with a model of its own, which
/// enqueues only the actions of its stages: the other stages stay on the host. All
/// ranks go through the actions in the same order. Where an action of another rank
/// makes what a stage of this rank needs, this rank enqueues the receipt. Every rank is
/// called with the whole batch, of which the first stage uses the images and the last
/// one the labels. The same bits result.
///
/// A stage's input is a copy of the activation from the device before, detached from
/// its tape; the backward pass of a stage begins with a copy of the gradient from the
/// device after. A micro-batch's activations are freed by its backward pass. Batch norm
/// computes its statistics for each micro-batch, as with gradient accumulation.
class PipelineModel : public nn::Module {
 public:
  /// Throws std::invalid_argument if the model cannot be cut there or if the schedule
  /// breaks a rule, has other stages, or has more ranks than there are devices. With
  /// `links`, `devices` are those of all ranks, of which only this rank's is used.
  PipelineModel(nn::ModulePtr module, Devices devices, PipelineOptions options);

  /// Runs the whole batch through the stages, without a tape: for evaluation. Returns
  /// an undefined tensor on ranks without the last stage.
  Tensor forward(const Tensor& input) override;

  /// Returns what the backward pass of a micro-batch starts from: its scaled loss.
  /// `output` is on `output_device()`; its rows begin at `first_row` of the batch.
  using Loss = std::function<Tensor(const Tensor& output, int64_t first_row)>;

  /// Runs the forward and backward passes of all micro-batches, which are the chunks of
  /// the batch (plan::chunk_sizes). Gradients are added to those of the parameters. A
  /// small batch may have fewer chunks than the schedule has micro-batches: the actions
  /// of the others are left out.
  void run(const Tensor& images, const Loss& loss);

  Device input_device() const { return device_of(0); }
  Device output_device() const { return device_of(stages_.size() - 1); }
  /// Return whether this process runs the first and the last stage.
  bool has_input() const { return runs(0); }
  bool has_output() const { return runs(stages_.size() - 1); }
  int micro_batches() const { return micro_batches_; }  ///< of the schedule
  /// Adds the schedule of the last run to the step's event.
  void describe(tracer::HostEvent& step, bool train) const;

  const char* type_name() const override { return "PipelineModel"; }
  nn::ModulePtr make_like() const override;
  /// The model inherits the wrapper's path: traces contain no `module.`.
  void assign_paths(const std::string& path) override;

 private:
  /// A micro-batch between the forward and the backward pass of a stage.
  struct Passing {
    ops::Arriving input;                 ///< before the forward pass
    std::shared_ptr<Tensor> input_grad;  ///< set by the backward pass
    Tensor root;                         ///< where the backward pass begins
    ops::Arriving output_grad;           ///< before it; undefined for a loss
  };

  void forward_pass(const plan::PipelineAction& action, const Loss& loss);
  void backward_pass(const plan::PipelineAction& action);
  void deliver(const Tensor& x, size_t to, const ops::CopyLabel& label,
               ops::Arriving& place);
  void receive_result_of(const plan::PipelineAction& action);
  ops::Arriving receive(int64_t rows, size_t border, size_t from,
                        const ops::CopyLabel& label);
  StageLinks* links() const { return options_.links.get(); }
  bool runs(size_t stage) const {
    return !links() || static_cast<int>(rank_of_stage_[stage]) == links()->rank();
  }
  Device device_of(size_t stage) const { return devices_[rank_of_stage_[stage]]; }
  Passing& passing(size_t stage, int micro_batch) {
    return passing_[stage * static_cast<size_t>(micro_batches_) +
                    static_cast<size_t>(micro_batch)];
  }

  const nn::ModulePtr module_;
  const Devices devices_;
  const PipelineOptions options_;
  const std::vector<Stage> stages_;
  std::vector<size_t> rank_of_stage_;
  int micro_batches_ = 0;
  std::vector<plan::PipelineAction> order_;  ///< in which the host enqueues them
  std::vector<Passing> passing_;
  std::vector<int64_t> first_rows_;  ///< of the micro-batches of the batch, and the end
  std::vector<TensorSpec> inputs_;   ///< by stage, for one image, if they are
  int64_t message_ = 0;              ///< number of the current action's message
};

}  // namespace lockstep::parallel
