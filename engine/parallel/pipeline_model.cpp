// Source: torch/distributed/pipelining/stage.py, `forward_one_chunk` and
// `backward_one_chunk`; schedules.py, `_PipelineScheduleRuntime`.
#include "engine/parallel/pipeline_model.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "engine/autograd/engine.h"
#include "engine/autograd/node.h"
#include "engine/ops/copy.h"
#include "engine/plan/chunk.h"
#include "engine/plan/pipeline_times.h"
#include "tracer/format/keys.h"
#include "tracer/record/recorder.h"

namespace lockstep::parallel {
namespace keys = tracer::keys;
namespace reasons = tracer::reasons;
using plan::PipelineAction;
using plan::PipelineOp;

namespace {

/// Returns a tensor with the history of `output` but without its memory: the values
/// have been sent to the next stage, and the backward pass does not need them.
Tensor history_of(const Tensor& output) {
  Tensor root = Tensor::unset(output.spec());
  const AutogradMeta* meta = output.meta_if_any();
  if (meta == nullptr) return root;
  root.meta().grad_fn = meta->grad_fn;
  root.meta().output_nr = meta->output_nr;
  return root;
}

/// The phase of an action.
class ActionPhase {
 public:
  explicit ActionPhase(const PipelineAction& action,
                       std::source_location site = std::source_location::current())
      : phase_(action.op == PipelineOp::forward ? tracer::phases::forward
                                                : tracer::phases::backward,
               site) {
    if (!phase_.event.on()) return;
    phase_.event.arg({keys::action, tracer::intern(plan::to_text(action))});
    phase_.event.arg({keys::stage, action.stage});
    phase_.event.arg({keys::micro_batch, action.micro_batch});
  }

 private:
  tracer::Phase phase_;
};

size_t stages_in(const plan::PipelineSchedule& schedule) {
  int last = -1;
  for (const auto& rank : schedule) {
    for (const PipelineAction& action : rank) last = std::max(last, action.stage);
  }
  return static_cast<size_t>(last + 1);
}

int micro_batches_in(const plan::PipelineSchedule& schedule) {
  int last = -1;
  for (const auto& rank : schedule) {
    for (const PipelineAction& action : rank) last = std::max(last, action.micro_batch);
  }
  return last + 1;
}

void require(bool holds, const std::string& rule) {
  if (!holds) throw std::invalid_argument(rule);
}

void check_schedule(const plan::PipelineSchedule& schedule, size_t stages,
                    size_t devices) {
  const std::string broken = plan::broken_rule(schedule, micro_batches_in(schedule));
  require(broken.empty(), broken);
  require(stages_in(schedule) == stages,
          "the schedule has " + std::to_string(stages_in(schedule)) +
              " stages, but the model is cut into " + std::to_string(stages));
  require(schedule.size() <= devices,
          "the schedule has " + std::to_string(schedule.size()) +
              " ranks, but there are " + std::to_string(devices) + " devices");
  for (const auto& rank : schedule) {
    for (const PipelineAction& action : rank) {
      require(action.op == PipelineOp::forward || action.op == PipelineOp::backward,
              plan::to_text(action) +
                  ": a backward pass computes the gradients of inputs and weights "
                  "together; fix: replace I and W with B");
    }
  }
}

}  // namespace

PipelineModel::PipelineModel(nn::ModulePtr module, Devices devices,
                             PipelineOptions options)
    : module_(register_module("module", std::move(module))),
      devices_(std::move(devices)),
      options_(std::move(options)),
      stages_(split_into_stages(*module_, options_.cuts)),
      rank_of_stage_(stages_.size()),
      micro_batches_(micro_batches_in(options_.schedule)) {
  check_schedule(options_.schedule, stages_.size(), devices_.size());
  require(!links() || links()->ranks() == static_cast<int>(options_.schedule.size()),
          "the schedule has " + std::to_string(options_.schedule.size()) +
              " ranks, but the group has another number");
  for (size_t rank = 0; rank < options_.schedule.size(); ++rank) {
    for (const PipelineAction& action : options_.schedule[rank]) {
      rank_of_stage_[static_cast<size_t>(action.stage)] = rank;
    }
  }
  if (links()) {
    inputs_ = stage_inputs(*module_, options_.cuts, options_.image_shape,
                           {DeviceType::null, static_cast<int>(devices_.size())});
  }
  for (size_t stage = 0; stage < stages_.size(); ++stage) {
    if (runs(stage)) stages_[stage].to(device_of(stage));
  }
  order_ = plan::order_of_starts(options_.schedule);
}

nn::ModulePtr PipelineModel::make_like() const {
  return std::make_shared<PipelineModel>(module_->make_like(), devices_, options_);
}

void PipelineModel::assign_paths(const std::string& path) {
  Module::assign_paths(path);
  module_->assign_paths(path);
}

Tensor PipelineModel::forward(const Tensor& input) {
  const autograd::NoGrad no_grad;
  const int64_t rows = input.size(0);
  if (links()) links()->begin(static_cast<int64_t>(stages_.size()));
  ops::Arriving x{input, nullptr};
  for (size_t stage = 0; stage < stages_.size(); ++stage) {
    const int number = static_cast<int>(stage);
    const ops::CopyLabel label{reasons::activation, "output", number + 1, 0};
    const bool ends = stage + 1 == stages_.size();
    message_ = number;
    if (!runs(stage)) {
      if (!ends && runs(stage + 1)) x = receive(rows, stage + 1, stage, label);
      continue;
    }
    const ActionPhase phase({number, PipelineOp::forward, 0});
    const Tensor output = stages_[stage].forward(ops::arrived(x));
    x = {output, nullptr};
    if (!ends) deliver(output, stage + 1, label, x);
  }
  return has_output() ? x.tensor : Tensor();
}

void PipelineModel::run(const Tensor& images, const Loss& loss) {
  first_rows_ = {0};
  for (const int64_t rows : plan::chunk_sizes(images.size(0), micro_batches_)) {
    first_rows_.push_back(first_rows_.back() + rows);
  }
  passing_.assign(stages_.size() * static_cast<size_t>(micro_batches_), {});
  const int chunks = static_cast<int>(first_rows_.size()) - 1;
  if (links()) links()->begin(static_cast<int64_t>(order_.size()));
  for (int m = 0; m < chunks; ++m) {
    const auto at = first_rows_.begin() + m;
    passing(0, m).input = {images.narrowed(at[0], at[1] - at[0]), nullptr};
  }
  for (size_t i = 0; i < order_.size(); ++i) {
    const PipelineAction& action = order_[i];
    if (action.micro_batch >= chunks) continue;
    message_ = static_cast<int64_t>(i);
    if (!runs(static_cast<size_t>(action.stage))) {
      receive_result_of(action);
    } else if (action.op == PipelineOp::forward) {
      forward_pass(action, loss);
    } else {
      backward_pass(action);
    }
  }
}

/// Sends what a stage has made to the stage `to`, where it goes to `place`. On another
/// rank, it is received when that rank comes to the same action.
void PipelineModel::deliver(const Tensor& x, size_t to, const ops::CopyLabel& label,
                            ops::Arriving& place) {
  if (runs(to)) {
    place = ops::send_to(x, device_of(to), label);
  } else {
    links()->send(x, static_cast<int>(rank_of_stage_[to]), label, message_);
  }
}

/// Receives the result of another rank's action, if a stage of this rank needs it.
void PipelineModel::receive_result_of(const PipelineAction& action) {
  const auto stage = static_cast<size_t>(action.stage);
  const int m = action.micro_batch;
  const auto at = first_rows_.begin() + m;
  const int64_t rows = at[1] - at[0];
  if (action.op == PipelineOp::forward) {
    if (stage + 1 == stages_.size() || !runs(stage + 1)) return;
    const tracer::Phase phase(tracer::phases::forward);
    passing(stage + 1, m).input = receive(
        rows, stage + 1, stage, {reasons::activation, "output", action.stage + 1, m});
  } else {
    if (stage == 0 || !runs(stage - 1)) return;
    const tracer::Phase phase(tracer::phases::backward);
    const CategoryScope category(MemoryCategory::gradients);
    passing(stage - 1, m).output_grad = receive(
        rows, stage, stage, {reasons::activation_grad, "output", action.stage - 1, m});
  }
}

/// Receives what crosses the border before the stage `border`, from the stage `from`.
ops::Arriving PipelineModel::receive(int64_t rows, size_t border, size_t from,
                                     const ops::CopyLabel& label) {
  TensorSpec spec = inputs_[border];
  std::vector<int64_t> sizes(spec.sizes.begin(), spec.sizes.end());
  sizes[0] = rows;
  spec.sizes = Shape(sizes);
  return links()->receive(spec, static_cast<int>(rank_of_stage_[from]), label,
                          message_);
}

// A stage sends its result at once, but the receiver's compute stream waits for it only
// when the action that needs it is enqueued: other actions may come before.

void PipelineModel::forward_pass(const PipelineAction& action, const Loss& loss) {
  const ActionPhase phase(action);
  const auto stage = static_cast<size_t>(action.stage);
  const int m = action.micro_batch;
  Passing& mine = passing(stage, m);
  Tensor x = ops::arrived(std::exchange(mine.input, {}));
  if (stage > 0) {
    mine.input_grad = std::make_shared<Tensor>();
    x = begin_tape(x, mine.input_grad);
  }
  const Tensor output = stages_[stage].forward(std::move(x));
  if (stage + 1 == stages_.size()) {
    mine.root = loss(output, first_rows_[static_cast<size_t>(m)]);
    return;
  }
  deliver(output.detach(), stage + 1,
          {reasons::activation, "output", action.stage + 1, m},
          passing(stage + 1, m).input);
  mine.root = history_of(output);
}

void PipelineModel::backward_pass(const PipelineAction& action) {
  const ActionPhase phase(action);
  const auto stage = static_cast<size_t>(action.stage);
  const int m = action.micro_batch;
  const Passing mine = std::exchange(passing(stage, m), {});
  const Tensor output_grad = ops::arrived(mine.output_grad);
  if (mine.root.requires_grad()) autograd::backward(mine.root, output_grad);
  if (stage == 0) return;
  const CategoryScope category(MemoryCategory::gradients);
  deliver(*mine.input_grad, stage - 1,
          {reasons::activation_grad, "output", action.stage - 1, m},
          passing(stage - 1, m).output_grad);
}

void PipelineModel::describe(tracer::HostEvent& step, bool train) const {
  std::vector<int64_t> devices;
  for (size_t stage = 0; stage < stages_.size(); ++stage) {
    devices.push_back(device_of(stage).trace_id());
  }
  step.arg(tracer::Arg::integers(keys::stage_devices, devices));
  if (!train) return;
  step.arg({keys::schedule, tracer::intern(options_.name)});
  step.arg({keys::micro_batches, static_cast<int64_t>(first_rows_.size()) - 1});
}

}  // namespace lockstep::parallel
