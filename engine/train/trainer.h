// The training loop.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <optional>
#include <tuple>

#include "engine/data/loader.h"
#include "engine/distributed/ddp/distributed_data_parallel.h"
#include "engine/ops/copy.h"
#include "engine/optim/weight_average.h"
#include "engine/parallel/data_parallel.h"
#include "engine/runtime/slot.h"
#include "engine/sharing/sharing.h"
#include "engine/train/mode.h"
#include "engine/train/stop_notice.h"
#include "engine/train/train_step.h"
#include "tracer/record/recorder.h"

namespace lockstep::train {

struct TrainerOptions {
  Mode mode = Mode::single;
  parallel::Devices devices;            ///< devices[0] holds the model
  std::optional<Device> output_device;  ///< DP: as in PyTorch; default: devices[0]
  bool input_on_device0 = false;  ///< DP: move images to device 0 before scattering
  DType dtype = DType::f32;
  int print_freq = 10;
  bool quiet = false;
  bool warn = true;  ///< print warnings to stderr, even if `quiet`
  /// Whether the loaders may return empty batches (LoaderOptions::on_bad_sample).
  bool skips_batches = false;
  optim::AnyOptions optimizer;
  /// Weight decays of batch norms and other biases, if different from the optimizer's.
  std::optional<double> norm_weight_decay, bias_weight_decay;
  double label_smoothing = 0;  ///< see ops::cross_entropy; also used in evaluation
  int accumulate = 1;          ///< number of batches per optimizer step
  bool recompute = false;      ///< residual blocks run again in the backward pass
  /// Decay of an average of the weights, and optimizer steps between its updates. Not
  /// in modes in which others make the optimizer step (see the constructor).
  std::optional<double> ema;
  int64_t ema_steps = 1;
  std::optional<double> clip_grad_norm;              ///< see optim::clip_grad_norm_
  std::shared_ptr<distributed::ProcessGroup> group;  ///< of all ranks; null: no ranks
  std::shared_ptr<StopNotice> stop_notice;  ///< of ranks whose devices compute nothing
  distributed::DdpOptions ddp;
  sharing::MakeSharing make_sharing;  ///< modes with ranks other than DDP
  std::optional<parallel::PipelineOptions> pipeline;  ///< model-parallel
  /// CUDA devices: replays steps (step_graph.h). In single; in DataParallel's modes
  /// with `input_on_device0`; in DDP with NCCL.
  bool graph = false;
  bool sync_bn = false;  ///< DDP: synchronizes batch norm statistics
  /// A step copies the batch of the next one to the devices while they work, unless it
  /// is recorded. Not with `skips_batches`; has no effect on images that DataParallel
  /// scatters from the host.
  bool prefetch_to_device = false;
  int64_t first_traced = -1;  ///< the first step of the trace; negative: there is none
  /// Set if batches have bytes: the constants by which the devices normalise them. Not
  /// with model_parallel and hybrid.
  std::optional<data::Normalization> normalization;
  bool loss_in_forward = false;  ///< dp_criterion: the replicas compute the loss
};

/// The metrics of one step; over all ranks, if they make each step together.
struct StepResult {
  int64_t step = 0;
  bool train = true;
  int64_t batch = 0;  ///< 0 if the batch was skipped: none of it could be loaded
  double loss = 0, acc1 = 0, acc5 = 0;
  double seconds = 0;  ///< host time from start to end of the step
};

/// Averages over an epoch.
struct EpochResult {
  double loss = 0, acc1 = 0, acc5 = 0;
  int64_t images = 0;
  int64_t batches = 0;   ///< the number of the batch that would have come next
  bool complete = true;  ///< false if ended early by `stop` or a step limit
};

/// Implements `--mode dp-features`: wraps a part of `model` in DataParallel, in place,
/// and returns the wrapper. A slot (runtime/slot.h); the default wraps the features of
/// AlexNet and VGG.
using WrapFeatures = std::shared_ptr<parallel::DataParallel>(
    nn::Module& model, const parallel::Devices& devices);
runtime::Slot<WrapFeatures>& feature_wrapper();

/// Implements `--mode hybrid`: moves the features of `model` to devices[0] and the rest
/// to the last device, wraps the features in place, and returns the wrapper. Throws
/// std::runtime_error if the model has no features.
std::shared_ptr<sharing::HybridFeatures> make_hybrid(nn::Module& model,
                                                     const parallel::Devices& devices);

/// Trains and evaluates a model like the ImageNet example's main.py, with one
/// difference: each step ends by waiting for all devices, so that its time includes all
/// of its work, whereas PyTorch's loop proceeds to the next step's data. Must be used
/// by one thread only.
class Trainer {
 public:
  /// Moves `model` to devices[0] (model-parallel: each stage to its device) and wraps
  /// it according to the mode. Throws std::runtime_error if `sync_bn` is set and the
  /// model has no batch norm, if `ema` is set with a mode without it, if
  /// `normalization` is set with a mode without it, or if `graph` is set and DDP's
  /// ranks do not use NCCL.
  Trainer(nn::ModulePtr model, TrainerOptions options);

  /// Trains for one epoch, or until the total step count reaches `last_step` (negative:
  /// no limit). Leaves out the batches before `first`.
  EpochResult train_epoch(data::DataLoader& loader, int epoch, int64_t last_step = -1,
                          int64_t first = 0);
  /// Evaluates on the data in `loader`, which in DDP is this rank's share. `rest` holds
  /// the samples left over after division by the world size; every rank evaluates it,
  /// and it is counted once (as in the ImageNet example).
  EpochResult validate(data::DataLoader& loader, data::DataLoader* rest = nullptr);
  /// The same of the average of the weights, whose line begins with "EMA".
  /// REQUIRES: average()->exists().
  EpochResult validate_average(data::DataLoader& loader,
                               data::DataLoader* rest = nullptr);
  /// Runs forward passes only, like the notebook, until the data ends or the total step
  /// count reaches `last_step` (negative: no limit).
  void forward_only(data::DataLoader& loader, int64_t last_step = -1);

  void set_lr(double lr) { optimizer().set_lr(lr); }
  int64_t steps_done() const { return next_step_; }
  /// Returns whether `stop` is set; with ranks, what they agreed on, except in the
  /// middle of an epoch that each makes at its own pace.
  bool told_to_stop() const { return stopped_by() != 0; }
  /// Returns the signal that ended the loop: SIGINT or SIGTERM; 0 if none did. If ranks
  /// received both, it is SIGTERM; on null devices, the first one.
  int stopped_by() const {
    return options_.group && !at_own_pace_ ? all_stop_ : own_stop();
  }
  /// To be called when this rank makes no more steps, and on rank 0 when no rank does:
  /// the model then has the weights that count as the result.
  void leave() {
    if (sharing_) sharing_->leave();
  }
  void fetch_result() {
    if (sharing_) sharing_->fetch();
  }
  /// Gives rank 0 the weights of all stages and the optimizer's state, if the ranks of
  /// a pipeline are processes. Must then be called by all of them.
  void collect_stages();
  /// Returns the average of the weights; null without `ema`.
  optim::WeightAverage* average() { return average_.get(); }
  /// Returns the optimizer's state, to be saved with the weights.
  std::vector<nn::Named<Tensor>> optimizer_state() {
    return sharing_ ? sharing_->optimizer_state(optimizer()) : optimizer().state();
  }
  const nn::ModulePtr& model() const { return model_; }
  /// Returns what `forward` is called on: the model or its wrapper.
  const nn::ModulePtr& callable() const { return callable_; }
  optim::Optimizer& optimizer() { return train_step_->optimizer(); }
  const StepGraph& graph() const { return train_step_->graph(); }
  const TrainerOptions& options() const { return options_; }
  /// Returns the DDP wrapper; null in other modes.
  distributed::DistributedDataParallel* ddp() { return ddp_.get(); }
  /// Returns how the ranks share weights; null without ranks and in DDP.
  const sharing::Sharing* sharing() const { return sharing_.get(); }

  /// Returns the rank's way of sharing weights; null in modes without one.
  sharing::Sharing* sharing() { return sharing_.get(); }

  /// Called before and after each step, respectively; used for recording.
  std::function<void(int64_t step)> before_step;
  std::function<void(const StepResult&)> after_step;

  /// Called after each optimizer step, between two steps, with the metrics of its last
  /// batch and the number of the epoch's batch that comes next. In DDP all ranks call
  /// it at the same step.
  std::function<void(const StepResult&, int64_t batches)> after_update;

  /// Ends the loop after the current optimizer step. May be set by a signal handler,
  /// which first sets `stop_signal` to the signal that it handles.
  static std::atomic<bool> stop;
  static std::atomic<int> stop_signal;  ///< SIGINT or SIGTERM

 private:
  struct Inputs {
    Tensor images, labels;
  };
  /// Inputs on their way to the devices.
  struct Sent {
    ops::Arriving images, labels;
  };
  /// The batch of the next step.
  struct Ahead {
    Inputs host;
    Sent sent;
    double data_seconds = 0;   ///< for which the host waited for the loader
    std::exception_ptr error;  ///< not null: the loader's or the copy's
  };
  class Step;
  bool in_step() const {
    return ddp_ || has_remote_stages() || (sharing_ && sharing_->in_step());
  }
  bool has_remote_stages() const { return pipeline_ && options_.group; }
  void wrap_model();
  optim::SumOverRanks sum_of_stages() const;
  Inputs load(data::Batch batch);
  bool input_on_device0() const {
    return hybrid_ ? false : !wrapper_ || options_.input_on_device0;
  }
  Sent send_to_devices(const Inputs& host);
  static Inputs arrived(const Sent& sent);
  bool copies_ahead(bool more_batches, int64_t last_step) const;
  void copy_ahead(data::DataLoader& loader);
  std::tuple<Inputs, Inputs, double> take_ahead();
  parallel::Devices graph_devices() const;
  Turn turn_of(int64_t batch, int64_t batches, int64_t last_step) const;
  StepResult step(data::DataLoader& loader, bool train, const Turn& turn, bool reduce,
                  bool copies_next, double& data_seconds);
  StepResult forward_step(data::Batch batch);
  EpochResult evaluate(data::DataLoader& loader, data::DataLoader* rest,
                       const char* average);
  EpochResult run(data::DataLoader& loader, bool train, const std::string& prefix,
                  int64_t last_step, bool reduce, int64_t first = 0);
  void reduce_metrics(StepResult& result);
  EpochResult run_at_own_pace(data::DataLoader& loader, const std::string& prefix,
                              int64_t last_step);
  static int own_stop() { return stop ? stop_signal.load() : 0; }
  bool ended(int64_t last_step, bool between_updates) const;
  void warn_of_scalars() const;
  void warn_if_diverged(const StepResult& result);
  void say_skipped(const std::string& prefix, int64_t batch, int64_t batches);
  int64_t own_vote();
  void take_votes(int64_t votes);
  bool is_skipped(const data::Batch& batch, bool reduce);
  void describe_hybrid(tracer::HostEvent& event, bool synced) const;
  void describe(tracer::HostEvent& event, const Inputs& host, const Tensor& output,
                bool synced) const;

  nn::ModulePtr model_;     ///< as created
  nn::ModulePtr callable_;  ///< the callable: model_ or its wrapper
  std::shared_ptr<parallel::DataParallel> wrapper_;
  std::shared_ptr<parallel::PipelineModel> pipeline_;
  std::shared_ptr<sharing::HybridFeatures> hybrid_;
  std::unique_ptr<sharing::HybridUpdate> hybrid_update_;
  std::shared_ptr<distributed::DistributedDataParallel> ddp_;
  std::unique_ptr<sharing::Sharing> sharing_;
  bool warned_ = false;       ///< whether it has warned of a non-finite loss
  int all_stop_ = 0;          ///< the signal that some rank received; 0: none
  bool at_own_pace_ = false;  ///< in an epoch in which no step waits for other ranks
  bool settles_ = false;      ///< whether the next step begins by settling the weights
  TrainerOptions options_;
  std::unique_ptr<optim::WeightAverage> average_;
  std::unique_ptr<TrainStep> train_step_;
  int64_t next_step_ = 0;
  std::optional<Ahead> ahead_;
};

}  // namespace lockstep::train
