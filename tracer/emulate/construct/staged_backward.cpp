#include "tracer/emulate/construct/staged_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tracer/format/facts.h"

namespace lockstep::tracer {
namespace {

using plan::PipelineAction;

constexpr std::string_view kGradient = "AccumulateGrad";
constexpr const char* kQueue = "autograd queue";

}  // namespace

void StagedProgram::backward_pass(const PipelineAction& action) {
  const ReplicaStep& step = steps_[action.micro_batch];
  const int device = device_of(action.stage), m = action.micro_batch;
  const int64_t phase = open_action(action, phases::backward);
  if (const auto grad = gradients_.find({action.stage, m}); grad != gradients_.end()) {
    program_.await(device, grad->second);
  }
  const int64_t call = program_.open_like(main_, *step.backward);
  int64_t began = before_;
  for (const Event* event : step.main) {
    const bool fills = event->is(categories::op) && event->ts >= step.backward->ts &&
                       event->end() <= step.join->ts;
    if (!fills || action.stage != last_stage()) continue;
    program_.repeat(*event, m, main_.lane, main_.now - event->ts);
    program_.repeat_tasks(event->id, m, device, [](Event&) {});
    main_.now += event->dur + 1;
    began = program_.id_of(event->id, m);
  }
  const int64_t join = program_.open_like(main_, *step.join);
  const int64_t last =
      run_nodes(action, call, began == kNone ? IdList() : IdList{began});
  program_.host(join).waits_for = {last};
  main_.now = std::max(main_.now, autograd_thread(device).now);
  program_.close(main_, join);
  program_.close(main_, call);
  if (action.stage > 0) send_over(action.stage, action, reasons::activation_grad);
  program_.close(main_, phase);
  before_ = phase;
}

StagedProgram::Thread& StagedProgram::autograd_thread(int device) {
  const auto found = autograd_.find(device);
  if (found != autograd_.end()) return found->second;
  Thread thread{recorded().step->ready.front().lane, 0};
  if (device > 0) {
    thread = program_.new_thread(fmt::format("autograd {}:{}", device_type_, device),
                                 main_.now);
  }
  return autograd_.emplace(device, thread).first->second;
}

int64_t StagedProgram::run_nodes(const PipelineAction& action, int64_t call,
                                 const IdList& begins_after) {
  const int device = device_of(action.stage), m = action.micro_batch;
  const bool scaled = action.stage == last_stage() && steps_.size() > 1;
  Thread& thread = autograd_thread(device);
  thread.now = std::max(thread.now, main_.now);
  wait_for(thread, begins_after, kQueue, reasons::queue, call);
  int64_t last = kNone;
  if (scaled) {  // the micro-batch's share of the loss
    last = program_.open(thread, categories::op, "MulBackward0",
                         {{keys::shapes, Json::array({Json::array()})}});
    program_.host(last).parent = call;
    small_op(thread, "aten::mul",
             {kNone, device, "scale", phases::backward, 2 * scalar_},
             Json::array({Json::array()}));
    program_.close(thread, last);
    wait_for(thread, {last}, kQueue, reasons::queue, call);
  }
  bool first = true;
  for (BackwardNode node : part(action).backward) {
    if (std::exchange(first, false)) {  // it has already waited
      std::erase(node.events, node.wait);
      node.before = node.op->ts;
    } else {
      node.before = node.events[0]->ts;
    }
    program_.repeat_node(node, {m, device, call}, thread, {}, [](Event&) {});
    ++thread.now;
    last = program_.id_of(node.op->id, m);
    if (node.op->name.view() == kGradient) add_gradient(node, action, thread);
  }
  if (action.stage > 0) {
    wait_for(thread, {last}, kQueue, reasons::queue, call);
    last = program_.open(thread, categories::op, "StageInputBackward",
                         {{keys::shapes, Json::array({part(action).input_shape})}});
    program_.host(last).parent = call;
    program_.close(thread, last);
  }
  return last;
}

void StagedProgram::add_gradient(const BackwardNode& node, const PipelineAction& action,
                                 Thread& thread) {
  const int device = device_of(action.stage), m = action.micro_batch;
  const Event* hook = nullptr;
  for (const Event* event : node.events) {
    if (event->name == names::grad_hook) hook = event;
  }
  if (hook == nullptr) return;
  const auto& parameters = recorded().step->parameters;
  const auto parameter =
      std::ranges::find(
          parameters, text_arg(hook->args, keys::param),
          [](const ModelTensor& tensor) -> std::string_view { return tensor.name; }) -
      parameters.begin();
  if (has_gradient_[parameter]) {
    const ModelTensor& tensor = parameters[parameter];
    const int64_t op = program_.id_of(node.op->id, m);
    const int64_t begin = program_.host(op).ts + 1;
    Thread inside{thread.lane, begin};
    small_op(inside, "aten::add",
             {kNone, device, "add", phases::backward, 3 * tensor.bytes},
             Json::array({tensor.shape, tensor.shape}));
    const int64_t took = inside.now - begin;
    program_.host(op).dur += took;
    program_.host(program_.id_of(hook->id, m)).ts += took;
    thread.now += took;
  }
  has_gradient_[parameter] = true;
  program_.grad_ready(*steps_[m].grad_ready[parameter], m, device);
}

}  // namespace lockstep::tracer
