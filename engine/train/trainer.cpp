#include "engine/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <exception>
#include <limits>
#include <utility>

#include "engine/autograd/node.h"
#include "engine/distributed/ddp/sync_batch_norm.h"
#include "engine/nn/recompute.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/runtime/device_context.h"
#include "engine/train/input_hooks.h"
#include "engine/train/meters.h"
#include "tracer/format/keys.h"
#include "tracer/record/recorder.h"

namespace lockstep::train {
namespace keys = tracer::keys;
namespace {

double seconds_since(int64_t start) {
  return static_cast<double>(tracer::now_ns() - start) / 1e9;
}

/// Returns the averages over the union of two sets of images.
EpochResult joined(const EpochResult& a, const EpochResult& b) {
  const double all = static_cast<double>(std::max<int64_t>(1, a.images + b.images));
  const double of_a = static_cast<double>(a.images) / all;
  const double of_b = static_cast<double>(b.images) / all;
  return {a.loss * of_a + b.loss * of_b,
          a.acc1 * of_a + b.acc1 * of_b,
          a.acc5 * of_a + b.acc5 * of_b,
          a.images + b.images,
          b.batches,
          b.complete};
}

/// Returns the devices of a pipeline's ranks. If they are processes, this one has only
/// its own.
parallel::Devices devices_of_stages(const TrainerOptions& options) {
  if (!options.group) return options.devices;
  parallel::Devices devices;
  for (int rank = 0; rank < options.group->size(); ++rank) {
    devices.push_back({options.devices[0].type, rank});
  }
  return devices;
}

}  // namespace

std::atomic<bool> Trainer::stop{false};
std::atomic<int> Trainer::stop_signal{SIGINT};

/// Moves the model to its devices, and makes what `forward` is called on.
void Trainer::wrap_model() {
  if (options_.recompute && nn::recompute_blocks(*model_) == 0) {
    throw std::runtime_error(
        "--recompute: this model has no residual blocks; fix: omit --recompute, or "
        "train a ResNet");
  }
  if (options_.mode != Mode::model_parallel && options_.mode != Mode::hybrid) {
    model_->to(options_.devices[0]);
  }
  if (options_.mode == Mode::model_parallel) {
    callable_ = pipeline_ = std::make_shared<parallel::PipelineModel>(
        model_, devices_of_stages(options_), options_.pipeline.value());
  } else if (options_.mode == Mode::dp) {
    wrapper_ = std::make_shared<parallel::DataParallel>(model_, options_.devices,
                                                        options_.output_device);
    callable_ = wrapper_;
  } else if (options_.mode == Mode::dp_criterion && options_.loss_in_forward) {
    callable_ = wrapper_ = std::make_shared<parallel::LossInForward>(
        model_, options_.devices, options_.label_smoothing);
    warn_of_scalars();
  } else if (options_.mode == Mode::dp_criterion) {
    callable_ = wrapper_ =
        std::make_shared<parallel::DataParallelModel>(model_, options_.devices);
  } else if (options_.mode == Mode::dp_features) {
    wrapper_ = feature_wrapper()(*model_, options_.devices);
  } else if (options_.mode == Mode::hybrid) {
    hybrid_ = make_hybrid(*model_, options_.devices);
  } else if (options_.mode == Mode::ddp) {
    if (options_.sync_bn &&
        distributed::convert_sync_batchnorm(*model_, options_.group) == 0) {
      throw std::runtime_error(
          "--sync-bn: this model has no batch norm; fix: omit --sync-bn");
    }
    ddp_ = std::make_shared<distributed::DistributedDataParallel>(
        model_, options_.group, options_.ddp);
    callable_ = ddp_;
  }
}

Trainer::Trainer(nn::ModulePtr model, TrainerOptions options)
    : model_(std::move(model)), callable_(model_), options_(std::move(options)) {
  wrap_model();
  if (options_.normalization) {
    if (pipeline_ || hybrid_) {
      throw std::runtime_error(
          "the devices do not normalise images with model-parallel and hybrid: no "
          "module of theirs receives all of them");
    }
    normalize_input(wrapper_ ? *wrapper_->module() : *model_, *options_.normalization,
                    options_.dtype);
  }
  // A pipeline has no module that is called with all weights.
  if (options_.devices[0].type == DeviceType::cuda && !pipeline_ && !hybrid_) {
    reorder_at_once(wrapper_ ? *wrapper_->module() : *model_);
  }
  if (options_.make_sharing) sharing_ = options_.make_sharing(*model_);
  callable_->assign_paths("");
  const auto other_decays = optim::other_weight_decays(
      *model_, options_.norm_weight_decay, options_.bias_weight_decay);
  std::visit([&](auto& options) { options.weight_decay_of = other_decays; },
             options_.optimizer);
  if (hybrid_) {
    hybrid_update_ = std::make_unique<sharing::HybridUpdate>(hybrid_, "features.",
                                                             options_.optimizer);
  }
  if (options_.ema) {
    if (sharing_ || hybrid_ || has_remote_stages()) {
      throw std::runtime_error(
          fmt::format("--ema averages the weights after this model's own optimizer "
                      "step, which mode "
                      "{} does not make; fix: omit it, or use ddp, dp or single",
                      name(options_.mode)));
    }
    average_ = std::make_unique<optim::WeightAverage>(model_, *options_.ema,
                                                      options_.ema_steps);
  }
  std::function<void()> before_replay;
  if (ddp_) before_replay = [this] { ddp_->buffers_have_changed(); };
  train_step_ = std::make_unique<TrainStep>(
      model_, callable_, options_.optimizer,
      TrainStepOptions{.label_smoothing = options_.label_smoothing,
                       .clip_grad_norm = options_.clip_grad_norm,
                       .sum_over_ranks = sum_of_stages(),
                       .graph_devices = graph_devices(),
                       .graph_warm_ups = ddp_ ? 2 : 1,
                       .before_replay = before_replay,
                       .sharing = sharing_.get(),
                       .hybrid = hybrid_update_.get(),
                       .average = average_.get()});
  if (sharing_) sharing_->attach(optimizer(), options_.optimizer);
}

/// Returns the devices whose work is captured as one graph; none without graphs.
parallel::Devices Trainer::graph_devices() const {
  if (!options_.graph) return {};
  if (ddp_ && std::string_view(options_.group->communicator().algorithm()) != "nccl") {
    throw std::runtime_error(
        "--cuda-graph captures the collectives of NCCL only, which requires one GPU "
        "per rank; fix: omit --cuda-graph");
  }
  parallel::Devices devices = options_.devices;
  if (const auto output = options_.output_device) {
    if (std::find(devices.begin(), devices.end(), *output) == devices.end()) {
      devices.push_back(*output);
    }
  }
  return devices;
}

EpochResult Trainer::train_epoch(data::DataLoader& loader, int epoch, int64_t last_step,
                                 int64_t first) {
  loader.start_epoch(epoch, first);
  callable_->train();
  const std::string prefix = "Epoch: [" + std::to_string(epoch) + "]";
  if (sharing_ && !in_step()) return run_at_own_pace(loader, prefix, last_step);
  return run(loader, true, prefix, last_step, in_step(), first);
}

/// Every rank trains on its own; all of them go on to the evaluation, or none does.
EpochResult Trainer::run_at_own_pace(data::DataLoader& loader,
                                     const std::string& prefix, int64_t last_step) {
  at_own_pace_ = true;
  EpochResult result = run(loader, true, prefix, last_step, false);
  at_own_pace_ = false;
  all_stop_ = 0;
  if (!sharing_->agree(!stop.load())) all_stop_ = own_stop() ? own_stop() : SIGINT;
  result.complete = sharing_->agree(result.complete && !all_stop_);
  return result;
}

EpochResult Trainer::validate(data::DataLoader& loader, data::DataLoader* rest) {
  return evaluate(loader, rest, "");
}

EpochResult Trainer::validate_average(data::DataLoader& loader,
                                      data::DataLoader* rest) {
  EpochResult result;
  {
    const optim::WeightAverage::InModel average(*average_);
    if (ddp_) ddp_->buffers_have_changed();  // each rank has averaged its own
    result = evaluate(loader, rest, "EMA ");
  }
  if (ddp_) ddp_->buffers_have_changed();
  return result;
}

EpochResult Trainer::evaluate(data::DataLoader& loader, data::DataLoader* rest,
                              const char* average) {
  loader.start_epoch(0);
  callable_->eval();
  autograd::NoGrad no_grad;
  settles_ = sharing_ != nullptr;
  if (sharing_ && !in_step() && sharing_->meet(stop)) {
    all_stop_ = own_stop() ? own_stop() : SIGINT;
  }
  const std::string prefix = std::string(average) + "Test";
  EpochResult result = run(loader, false, prefix + ": ", -1, options_.group != nullptr);
  if (rest && result.complete) {
    rest->start_epoch(0);
    result = joined(result, run(*rest, false, prefix + ", rest: ", -1, false));
  }
  settles_ = false;
  if (!options_.quiet && result.complete) {
    std::printf(" * %sAcc@1 %.3f Acc@5 %.3f\n", average, result.acc1, result.acc5);
    std::fflush(stdout);
  }
  return result;
}

/// Returns whether a signal or the limit on the number of steps ends the loop. A signal
/// does so only where no gradients are accumulated.
bool Trainer::ended(int64_t last_step, bool between_updates) const {
  return (told_to_stop() && between_updates) ||
         (last_step >= 0 && next_step_ >= last_step);
}

EpochResult Trainer::run(data::DataLoader& loader, bool train,
                         const std::string& prefix, int64_t last_step, bool reduce,
                         int64_t first) {
  AverageMeter time("Time", ":6.3f"), data_time("Data", ":6.3f"), loss("Loss", ":.4e"),
      acc1("Acc@1", ":6.2f"), acc5("Acc@5", ":6.2f");
  EpochResult epoch;
  int64_t skipped = 0;  // batches without a sample that could be loaded
  ahead_.reset();       // of an epoch that ended early
  bool between_updates = true;
  for (int64_t i = epoch.batches = first; i < loader.size(); ++i) {
    if (ended(last_step, between_updates)) {
      epoch.complete = false;
      break;
    }
    if (before_step) before_step(next_step_);
    const int64_t start = tracer::now_ns();
    double waited_for_data = 0;
    const Turn turn =
        train ? turn_of(i - first - skipped, loader.size() - first - skipped, last_step)
              : Turn{};
    const bool ahead = copies_ahead(i + 1 < loader.size(), last_step);
    const StepResult result = step(loader, train, turn, reduce, ahead, waited_for_data);
    if (reduce && options_.stop_notice) {
      runtime::context(options_.devices[0]).synchronize();
      all_stop_ = options_.stop_notice->read_after(result.step);
    }

    if (result.batch > 0) {
      if (train) warn_if_diverged(result);
      data_time.update(waited_for_data);
      loss.update(result.loss, result.batch);
      acc1.update(result.acc1, result.batch);
      acc5.update(result.acc5, result.batch);
      time.update(seconds_since(start));
      epoch.images += result.batch;
      between_updates = turn.last;
    } else {
      ++skipped;
      say_skipped(prefix, i, loader.size());
    }
    if (after_step) after_step(result);
    epoch.batches = i + 1;
    const bool last =
        epoch.batches == loader.size() || ended(last_step, between_updates);
    if (!options_.quiet && epoch.images > 0 && (last || i % options_.print_freq == 0)) {
      std::vector<const AverageMeter*> meters{&time, &data_time, &loss, &acc1, &acc5};
      if (!train) meters.erase(meters.begin() + 1);
      std::puts(progress_line(prefix, i, loader.size(), meters).c_str());
      std::fflush(stdout);
    }
    const bool updated = train && result.batch > 0 && between_updates;
    if (updated && after_update) after_update(result, epoch.batches);
  }
  if (skipped == loader.size() - first && skipped > 0) {
    throw std::runtime_error(prefix +
                             " no sample could be loaded; fix: check the data set");
  }
  epoch.loss = loss.average();
  epoch.acc1 = acc1.average();
  epoch.acc5 = acc5.average();
  return epoch;
}

/// A step of the run, from construction to destruction: its number, event and start.
class Trainer::Step {
 public:
  Step(Trainer& trainer, bool train) : trainer_(trainer) {
    result.step = trainer.next_step_++;
    result.train = train;
    tracer::set_step(result.step);
    tracer::step_facts() = {};
    event_.emplace("step", std::source_location::current())
        .event.arg({keys::kind, train ? "train" : "eval"});
  }

  /// The byte laws do not apply to a step that an exception ends.
  ~Step() {
    if (std::uncaught_exceptions() > exceptions_) {
      event_->event.arg({keys::interrupted, true});
    }
  }

  double seconds() const { return seconds_since(started_); }

  /// Waits for all devices, then adds the description of the step to its event.
  void finish(const Inputs& host, const Tensor& output, bool synced) {
    for (Device device : trainer_.options_.devices) {
      runtime::context(device).synchronize();
    }
    if (const auto output = trainer_.options_.output_device) {
      runtime::context(*output).synchronize();
    }
    trainer_.describe(event_->event, host, output, synced);
    result.seconds = seconds();
  }

  StepResult result;

 private:
  Trainer& trainer_;
  const int64_t started_ = tracer::now_ns();
  const int exceptions_ = std::uncaught_exceptions();
  std::optional<tracer::Phase> event_;
};

StepResult Trainer::step(data::DataLoader& loader, bool train, const Turn& turn,
                         bool reduce, bool copies_next, double& data_seconds) {
  Step step(*this, train);
  Inputs host, inputs;
  if (ahead_) {
    std::tie(host, inputs, data_seconds) = take_ahead();
  } else {
    {
      tracer::Phase phase("data");
      data::Batch batch = *loader.next();
      if (is_skipped(batch, reduce)) return step.result;
      host = load(std::move(batch));
      data_seconds = step.seconds();
    }
    tracer::Phase phase("h2d");
    inputs = arrived(send_to_devices(host));
  }
  if (std::exchange(settles_, false)) sharing_->settle();
  // As in main.py, item() blocks the host until the device has finished the whole
  // forward pass, so the `loss` phase is long on the host timeline and short on the
  // device's.
  const bool is_emulated = options_.devices[0].type == DeviceType::emulated;
  const auto read = [&, is_emulated, copies_next](const StepTensors& made) {
    if (copies_next && !sharing_) copy_ahead(loader);
    StepResult& result = step.result;
    const std::vector<double> values = ops::items({made.loss, made.acc1, made.acc5});
    result.loss = values[0];
    result.acc1 = values[1];
    result.acc5 = values[2];
    if (!is_emulated) return;
    constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
    result.loss = result.acc1 = result.acc5 = kUnknown;
  };
  // With gradient accumulation, only the last batch of a group synchronizes gradients:
  // those of the others accumulate locally on each rank.
  std::optional<distributed::DistributedDataParallel::NoSync> no_sync;
  if (ddp_ && !turn.last) no_sync.emplace(*ddp_);
  const StepTensors made =
      train ? train_step_->run(inputs.images, inputs.labels, turn, read)
            : train_step_->evaluate(inputs.images, inputs.labels, read);
  // Workers that share a model hold its lock, or an old version of it, until now. A
  // pipeline's earlier stages have read no loss.
  if (copies_next && !ahead_) copy_ahead(loader);
  step.result.batch = host.labels.size(0);
  if (reduce) reduce_metrics(step.result);
  step.finish(host, made.output, train && turn.last);
  return step.result;
}

/// The last group of an epoch or of the run may be smaller than the others.
Turn Trainer::turn_of(int64_t batch, int64_t batches, int64_t last_step) const {
  if (last_step >= 0) batches = std::min(batches, batch + last_step - next_step_);
  const int64_t group = options_.accumulate, place = batch % group;
  const int64_t size = std::min(group, batches - (batch - place));
  return {place == 0, place + 1 == size, size};
}

void Trainer::forward_only(data::DataLoader& loader, int64_t last_step) {
  loader.start_epoch(0);
  while (!ended(last_step, true)) {
    auto batch = loader.next();
    if (!batch) break;
    if (before_step) before_step(next_step_);
    const StepResult result = forward_step(std::move(*batch));
    if (after_step) after_step(result);
  }
}

StepResult Trainer::forward_step(data::Batch batch) {
  Step step(*this, false);
  Inputs host = load(std::move(batch));
  Tensor images = host.images, output;
  if (input_on_device0()) {
    tracer::Phase phase("h2d");
    CategoryScope category(MemoryCategory::inputs);
    images = ops::copy_to(host.images, options_.devices[0], {"h2d", "images"});
  }
  {
    tracer::Phase phase("forward");
    output = (*callable_)(images);
  }
  std::printf("Outside: input size torch.Size(%s) output_size torch.Size(%s)\n",
              images.sizes().str().c_str(), output.sizes().str().c_str());
  host.labels = Tensor::empty({0}, kHost, DType::i64);  // the notebook has no labels
  step.result.batch = output.size(0);
  step.finish(host, output, false);
  return step.result;
}

}  // namespace lockstep::train
