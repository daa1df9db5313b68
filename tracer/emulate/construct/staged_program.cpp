#include "tracer/emulate/construct/staged_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "engine/plan/pipeline_times.h"
#include "tracer/format/facts.h"

namespace lockstep::tracer {
namespace {

using plan::PipelineAction;
using plan::PipelineOp;

constexpr std::string_view kItem = "aten::item";

bool makes_contiguous(const ReplicaStep& step) {
  return std::ranges::any_of(
      step.model, [](const Event* event) { return event->name == "aten::contiguous"; });
}

}  // namespace

StagedProgram::StagedProgram(const std::vector<const RecordedStep*>& steps,
                             const ConstructedPipeline& pipeline,
                             std::string device_type)
    : pipeline_(pipeline),
      device_type_(std::move(device_type)),
      program_(steps, nullptr) {
  for (const RecordedStep* step : steps) {
    steps_.emplace_back(*step);
    parts_.push_back(stage_parts(steps_.back(), pipeline.cuts));
    batch_ += step->batch;
  }
  rank_of_stage_.resize(pipeline.cuts.size() + 1);
  for (size_t rank = 0; rank < pipeline.schedule.size(); ++rank) {
    for (const PipelineAction& action : pipeline.schedule[rank]) {
      rank_of_stage_.at(action.stage) = static_cast<int>(rank);
    }
  }
  const ModelTensor& any = recorded().step->parameters[0];
  scalar_ = any.bytes / std::max<int64_t>(1, any.numel);
  blocked_layout_ = makes_contiguous(recorded());
  has_gradient_.resize(recorded().step->parameters.size());
  main_.lane = lane_of(*recorded().whole);
}

std::vector<Event> StagedProgram::run() {
  load_batch();
  for (const PipelineAction& action : plan::order_of_starts(pipeline_.schedule)) {
    action.op == PipelineOp::forward ? forward_pass(action) : backward_pass(action);
  }
  update();
  finish();
  return program_.finish(static_cast<int>(pipeline_.schedule.size()));
}

void StagedProgram::load_batch() {
  const Event& images = *recorded().images_op;
  const Event* h2d = nullptr;
  for (const Event* event : recorded().main) {
    if (event->is(categories::phase) && is_inside(images, *event) &&
        event != recorded().whole) {
      h2d = event;
    }
  }
  const int64_t begin = h2d != nullptr ? h2d->ts : images.ts;
  for (const Event* event : recorded().main) {
    if (event->end() > begin) continue;
    program_.repeat(*event, 0, main_.lane, 0);
  }
  main_.now = begin;
  const int64_t phase = h2d != nullptr ? program_.open_like(main_, *h2d) : kNone;
  for (const auto& [tensor, device] :
       {std::pair("images", device_of(0)), {"labels", device_of(last_stage())}}) {
    CopyFacts facts;
    for (const Event& event : recorded().step->events) {
      const bool sent = event.is(categories::copy) &&
                        copy_facts(event).why == reasons::h2d &&
                        copy_facts(event).tensor == tensor;
      if (sent) facts = copy_facts(event);
    }
    std::vector<int64_t> shape = facts.shape.integers();
    if (!shape.empty()) shape[0] = batch_;
    ProcessProgram::Copy copy{.src = kHost,
                              .dst = device,
                              .why = reasons::h2d,
                              .phase = phases::h2d,
                              .tensor = tensor,
                              .dtype = std::string(facts.dtype),
                              .shape = shape,
                              .bytes = facts.bytes / recorded().step->batch * batch_};
    copy.op = program_.open(main_, categories::op, "aten::to",
                            {{keys::shapes, Json::array({shape})}});
    program_.copy(copy);
    program_.launch(main_);
    program_.close(main_, copy.op);
  }
  if (phase != kNone) program_.close(main_, phase);
}

int64_t StagedProgram::open_action(const PipelineAction& action, const char* phase) {
  return program_.open(main_, categories::phase, phase,
                       {{keys::action, plan::to_text(action)},
                        {keys::stage, action.stage},
                        {keys::micro_batch, action.micro_batch}});
}

void StagedProgram::forward_pass(const PipelineAction& action) {
  const int64_t phase = open_action(action, phases::forward);
  const int device = device_of(action.stage), m = action.micro_batch;
  if (const auto input = inputs_.find({action.stage, m}); input != inputs_.end()) {
    program_.await(device, input->second);
  }
  const std::vector<const Event*>& events = part(action).forward;
  const int64_t shift = main_.now - events[0]->ts;
  for (const Event* event : events) {
    program_.repeat(*event, m, main_.lane, shift);
    program_.repeat_tasks(event->id, m, device, [](Event&) {});
    main_.now = std::max(main_.now, event->end() + shift + 1);
  }
  if (action.stage == last_stage()) {
    loss_of(m);
  } else {
    send_over(action.stage + 1, action, reasons::activation);
  }
  program_.close(main_, phase);
  before_ = phase;
}

void StagedProgram::send_over(int border, const PipelineAction& action,
                              const char* why) {
  const bool ahead = why == reasons::activation;
  const int from = ahead ? border - 1 : border, to = ahead ? border : border - 1;
  if (device_of(from) == device_of(to)) return;
  const std::vector<int64_t>& shape =
      parts_[action.micro_batch][static_cast<size_t>(border)].input_shape;
  const int64_t numel =
      std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  const char* phase = ahead ? phases::forward : phases::backward;
  const Json shapes = Json::array({shape});
  ProcessProgram::Copy copy{.src = device_of(from),
                            .dst = device_of(to),
                            .why = why,
                            .phase = phase,
                            .tensor = "output",
                            .dtype = recorded().step->parameters[0].dtype,
                            .shape = shape,
                            .bytes = numel * scalar_,
                            .stage = to,
                            .micro_batch = action.micro_batch,
                            .awaited_later = true};
  copy.op = program_.open(main_, categories::op, "aten::to", {{keys::shapes, shapes}});
  if (blocked_layout_ && shape.size() == 4) {
    small_op(main_, "aten::contiguous",
             {kNone, device_of(from), "copy", phase, 2 * copy.bytes}, shapes);
  }
  (ahead ? inputs_ : gradients_)[{to, action.micro_batch}] = program_.copy(copy);
  program_.launch(main_);
  program_.close(main_, copy.op);
}

void StagedProgram::small_op(Thread& thread, const char* op,
                             ProcessProgram::Kernel kernel, Json shapes) {
  kernel.op =
      program_.open(thread, categories::op, op,
                    {{keys::shapes, std::move(shapes)}, {keys::bytes, kernel.bytes}});
  program_.kernel(kernel);
  program_.launch(thread);
  program_.close(thread, kernel.op);
}

void StagedProgram::loss_of(int micro_batch) {
  const ReplicaStep& step = steps_[micro_batch];
  const Event& loss = find_phase(*step.step, phases::loss);
  const int device = device_of(last_stage());
  const Json scalar = Json::array({Json::array()}),
             scalars = Json::array({Json::array(), Json::array()});
  const bool whole = steps_.size() == 1;
  const int64_t phase = program_.open_like(main_, loss);
  const auto add_share = [&] {
    if (!whole) {
      small_op(main_, "aten::mul", {kNone, device, "scale", phases::loss, 2 * scalar_},
               scalar);
    }
    if (micro_batch == 0) return;
    small_op(main_, "aten::add", {kNone, device, "add", phases::loss, 3 * scalar_},
             scalars);
  };
  for (const Event* event : step.main) {
    const bool computes = is_inside(*event, loss) && event->is(categories::op) &&
                          event->name.view() != kItem;
    if (!computes) continue;
    program_.repeat(*event, micro_batch, main_.lane, main_.now - event->ts);
    program_.repeat_tasks(event->id, micro_batch, device, [](Event&) {});
    main_.now += event->dur + 1;
    const std::string_view name = event->name.view();
    if (name == "aten::nll_loss" || name == "aten::topk") add_share();
  }
  if (!whole) {
    small_op(main_, "aten::mul", {kNone, device, "scale", phases::loss, 2 * scalar_},
             scalar);
  }
  program_.close(main_, phase);
}

void StagedProgram::update() {
  const Event& optimizer = find_phase(*recorded().step, phases::optimizer);
  const std::vector<ModelTensor>& parameters = recorded().step->parameters;
  int64_t all = 0;
  for (const ModelTensor& tensor : parameters) all += tensor.bytes;
  const int64_t phase = program_.open_like(main_, optimizer);
  for (int device = 0; device < static_cast<int>(pipeline_.schedule.size()); ++device) {
    Json shapes = Json::array();
    int64_t own = 0;
    for (int stage = 0; stage <= last_stage(); ++stage) {
      if (device_of(stage) != device) continue;
      for (const size_t i : parts_[0][stage].parameters) {
        shapes.push_back(parameters[i].shape);
        own += parameters[i].bytes;
      }
    }
    if (own == 0) continue;
    const double share = static_cast<double>(own) / static_cast<double>(all);
    for (const Event* event : recorded().main) {
      if (!is_inside(*event, optimizer) || !event->is(categories::op)) continue;
      const int64_t op = program_.open_like(main_, *event);
      program_.host(op).args[keys::shapes] = shapes;
      for (const Event& task : recorded().step->events) {
        if (!task.is(categories::kernel) || task.op != event->id) continue;
        program_.kernel_like(task, op, device, share);
        program_.launch(main_);
      }
      program_.close(main_, op);
    }
  }
  program_.close(main_, phase);
}

void StagedProgram::finish() {
  const int device = device_of(last_stage());
  LaneKey reader{-1, -1};
  for (const Event* item : recorded().main) {
    if (item->name.view() != kItem) continue;
    const int64_t shift = main_.now - item->ts;
    program_.repeat(*item, 0, main_.lane, shift);
    program_.repeat_tasks(item->id, 0, device, [&](Event& copy) {
      if (reader.pid < 0 && device > 0) {
        reader =
            program_
                .new_thread(fmt::format("from {}:{}", device_type_, device), main_.now)
                .lane;
      }
      if (device > 0) copy.pid = reader.pid, copy.tid = reader.tid;
      copy.args[keys::src] = device;
      copy.args[keys::phase] = names::step;
    });
    for (const Event* inside : recorded().main) {
      if (!is_inside(*inside, *item)) continue;
      program_.repeat(*inside, 0, main_.lane, shift);
    }
    main_.now += item->dur + 1;
  }
  for (int i = 0; i < static_cast<int>(pipeline_.schedule.size()); ++i) {
    for (const int64_t id : {program_.last_kernel(i), program_.last_copy(i), kNone}) {
      wait_for(main_, id == kNone ? IdList() : IdList{id}, "synchronize",
               reasons::device, kNone);
    }
  }
  Event& step = program_.repeat(*recorded().whole, 0, main_.lane, 0);
  step.dur = main_.now - step.ts;
  describe(step);
}

void StagedProgram::wait_for(Thread& thread, const IdList& awaited, const char* name,
                             const char* why, int64_t parent) {
  const int64_t id = program_.open(thread, categories::sync, name, {{keys::why, why}});
  program_.close(thread, id);
  program_.host(id).waits_for = awaited;
  program_.host(id).parent = parent;
}

void StagedProgram::describe(Event& step) const {
  const int64_t recorded_batch = recorded().step->batch;
  for (const char* key : {keys::input_bytes, keys::label_bytes, keys::output_bytes}) {
    step.args[key] = int_arg(step.args, key) / recorded_batch * batch_;
  }
  step.args[keys::batch] = batch_;
  step.args[keys::chunks] = Json::array({batch_});
  step.args[keys::stage_devices] = rank_of_stage_;
  step.args[keys::schedule] = pipeline_.name;
  step.args[keys::micro_batches] = steps_.size();
}

}  // namespace lockstep::tracer
