#include "engine/train/train_step.h"

#include "engine/ops/ops.h"
#include "engine/optim/clip_grad_norm.h"
#include "engine/train/pipeline_loss.h"
#include "tracer/record/recorder.h"

namespace lockstep::train {

TrainStep::TrainStep(nn::ModulePtr model, nn::ModulePtr callable,
                     const optim::AnyOptions& optimizer,
                     const TrainStepOptions& options)
    : model_(std::move(model)),
      callable_(std::move(callable)),
      outputs_stay_(dynamic_cast<parallel::DataParallelModel*>(callable_.get())),
      loss_inside_(dynamic_cast<parallel::LossInForward*>(callable_.get())),
      pipeline_(dynamic_cast<parallel::PipelineModel*>(callable_.get())),
      options_(options),
      optimizer_(optim::make_optimizer(model_->named_parameters(), optimizer)),
      graph_(options.graph_devices, options.graph_warm_ups) {}

StepTensors TrainStep::run(const Tensor& images, const Tensor& labels, const Turn& turn,
                           const Read& read) {
  if (options_.graph_devices.empty() || tracer::recording()) {
    return enqueue(images, labels, turn, read);
  }
  const auto step = [this](const Tensor& images, const Tensor& labels) {
    return enqueue(images, labels, {}, {});
  };
  if (options_.before_replay) options_.before_replay();
  const StepTensors made = graph_.run(images, labels, optimizer_->lr(), step);
  if (read) read(made);
  return made;
}

StepTensors TrainStep::enqueue(const Tensor& images, const Tensor& labels,
                               const Turn& turn, const Read& read) {
  if (pipeline_) return run_pipeline(images, labels, turn, read);
  if (options_.sharing && turn.first) options_.sharing->before_forward();
  StepTensors made = evaluate(images, labels, read);
  backward(made, turn);
  if (turn.last) update();
  return made;
}

StepTensors TrainStep::evaluate(const Tensor& images, const Tensor& labels,
                                const Read& read) {
  if (loss_inside_) return evaluate_inside(images, labels, read);
  if (outputs_stay_) return evaluate_on_each(images, labels, read);
  if (pipeline_) return evaluate_pipeline(images, labels, read);
  StepTensors made;
  {
    tracer::Phase phase("forward");
    made.output = (*callable_)(images);
  }
  tracer::Phase phase("loss");
  made.loss = ops::cross_entropy(made.output, labels, ops::Reduction::mean,
                                 options_.label_smoothing);
  if (options_.accuracy) {
    made.acc1 = ops::accuracy(made.output, labels, 1);
    made.acc5 = ops::accuracy(made.output, labels, 5);
  }
  if (read) read(made);
  return made;
}

namespace {

/// The outputs are not gathered: each device counts its own correct predictions, and
/// their percentages of the whole batch are added on device 0, as the losses are.
Tensor accuracy_on_each(const Tensors& outputs, const Tensors& targets, int64_t batch,
                        int64_t k) {
  if (outputs.size() == 1) return ops::accuracy(outputs[0], targets[0], k);
  Tensors shares;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const double weight = double(targets[i].size(0)) / double(batch);
    shares.push_back(ops::scale(ops::accuracy(outputs[i], targets[i], k), weight));
  }
  return parallel::reduce_add(shares, {"metrics", "accuracy"});
}

}  // namespace

StepTensors TrainStep::evaluate_on_each(const Tensor& images, const Tensor& labels,
                                        const Read& read) {
  Tensors outputs;
  {
    tracer::Phase phase("forward");
    outputs = outputs_stay_->outputs_of(images);
  }
  tracer::Phase phase("loss");
  const Tensors targets =
      parallel::scatter_targets(labels, outputs_stay_->device_ids());
  const parallel::DataParallelCriterion criterion(options_.label_smoothing);
  StepTensors made;
  made.loss = criterion(outputs, targets);
  if (options_.accuracy) {
    made.acc1 = accuracy_on_each(outputs, targets, labels.size(0), 1);
    made.acc5 = accuracy_on_each(outputs, targets, labels.size(0), 5);
  }
  if (read) read(made);
  return made;
}

StepTensors TrainStep::evaluate_inside(const Tensor& images, const Tensor& labels,
                                       const Read& read) {
  Tensors targets;
  Tensor losses;
  {
    tracer::Phase phase("forward");
    targets = parallel::scatter_targets(labels, loss_inside_->device_ids());
    losses = loss_inside_->losses_of(images, targets);
  }
  tracer::Phase phase("loss");
  StepTensors made;
  made.loss = parallel::mean(losses);
  if (options_.accuracy) {
    const Tensors& outputs = loss_inside_->outputs();
    made.acc1 = accuracy_on_each(outputs, targets, labels.size(0), 1);
    made.acc5 = accuracy_on_each(outputs, targets, labels.size(0), 5);
  }
  if (read) read(made);
  return made;
}

StepTensors TrainStep::run_pipeline(const Tensor& images, const Tensor& labels,
                                    const Turn& turn, const Read& read) {
  if (turn.first) optimizer_->zero_grad();
  PipelineLoss loss(labels, {.label_smoothing = options_.label_smoothing,
                             .accuracy = options_.accuracy,
                             .batches = turn.batches});
  pipeline_->run(images, std::ref(loss));
  tracer::step_facts().output_bytes = loss.output_bytes();
  if (turn.last) update();
  if (read && loss.sums().loss.defined()) read(loss.sums());
  return loss.sums();
}

StepTensors TrainStep::evaluate_pipeline(const Tensor& images, const Tensor& labels,
                                         const Read& read) {
  PipelineLoss loss(labels, {.label_smoothing = options_.label_smoothing,
                             .accuracy = options_.accuracy});
  const Tensor output = (*pipeline_)(images);
  if (output.defined()) loss(output, 0);
  tracer::step_facts().output_bytes = loss.output_bytes();
  if (read && output.defined()) read(loss.sums());
  return loss.sums();
}

void TrainStep::backward(StepTensors& made, const Turn& turn) {
  tracer::Phase phase("backward");
  if (turn.first) optimizer_->zero_grad();
  if (turn.first && options_.hybrid) options_.hybrid->zero_grad();
  if (turn.batches > 1) made.loss = ops::scale(made.loss, 1.0 / double(turn.batches));
  made.loss.backward();
  if (turn.last && options_.hybrid) options_.hybrid->sum_gradients();
}

void TrainStep::update() {
  tracer::Phase phase("optimizer");
  if (options_.clip_grad_norm) {
    const double most = *options_.clip_grad_norm;
    const double norm =
        optim::clip_grad_norm_(model_->parameters(), most, options_.sum_over_ranks);
    if (options_.hybrid) options_.hybrid->clip(norm, most);
  }
  if (options_.sharing) return options_.sharing->update(*optimizer_);
  if (options_.hybrid) options_.hybrid->step(*optimizer_);
  optimizer_->step();
  if (options_.average) options_.average->after_update();
}

}  // namespace lockstep::train
