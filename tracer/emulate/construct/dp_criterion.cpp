// DataParallelCriterion: the loss on every device
// (engine/parallel/model_and_criterion).
#include <algorithm>
#include <string_view>

#include "tracer/emulate/construct/dp_program.h"
#include "tracer/format/facts.h"

namespace lockstep::tracer {
namespace {

constexpr std::string_view kReadScalar = "aten::item", kTopK = "aten::topk";

bool in_phase_of(const Event& event, const Event& around) {
  return event.id != around.id && lane_of(event) == lane_of(around) &&
         event.ts >= around.ts && event.end() <= around.end();
}

/// Returns the operations of a replica's loss, in order.
std::vector<const Event*> loss_ops(const ReplicaStep& replica) {
  const Event& loss = find_phase(*replica.step, phases::loss);
  std::vector<const Event*> ops;
  for (const Event* event : replica.main) {
    if (!in_phase_of(*event, loss) || !event->is(categories::op)) continue;
    if (event->name.view() != kReadScalar) ops.push_back(event);
  }
  return ops;
}

}  // namespace

const Event* DpProgram::first_item() const {
  const Event& loss = find_phase(*first().step, phases::loss);
  for (const Event* event : main_events_) {
    if (in_phase_of(*event, loss) && event->name.view() == kReadScalar) return event;
  }
  return nullptr;
}

bool DpProgram::is_replaced(const Event& recorded) const {
  if (!loss_on_each_) return false;
  if (recorded.id == first().labels_op->id) return true;
  const Event& loss = find_phase(*first().step, phases::loss);
  return in_phase_of(recorded, loss) && recorded.is(categories::op) &&
         recorded.name.view() != kReadScalar;
}

void DpProgram::loss_on_each() {
  const Event& loss = find_phase(*first().step, phases::loss);
  main_.now = loss.ts + shift_at(loss.ts) + 1;
  scatter_targets();
  if (devices_ == 1) {
    criterion(0, main_, kNone);
  } else {
    on_each_replica(
        [&](int i, Thread& thread) { return criterion(i, thread, loss.id); });
    add_scalars(reasons::loss, "loss", false, nullptr);
    scalar_op(main_, 0, "aten::mul", "scale", phases::loss, 2);
  }
  for (const Event* op : loss_ops(first())) {
    if (op->name.view() != kTopK) continue;
    if (devices_ == 1) {
      repeat_loss_op(*op, 0, main_);
    } else {
      add_scalars(reasons::metrics, "accuracy", true, op);
    }
  }
  const Event* item = first_item();
  continue_main(item != nullptr ? item->ts : loss.end(), main_.now);
}

void DpProgram::scatter_targets() {
  CopyFacts labels;
  for (const Event& event : first().step->events) {
    if (event.is(categories::copy) && event.op == first().labels_op->id) {
      labels = copy_facts(event);
    }
  }
  for (int i = 0; i < replicas(); ++i) {
    send(main_, "aten::to",
         {.src = kHost,
          .dst = i,
          .why = reasons::targets,
          .phase = phases::loss,
          .tensor = "labels",
          .dtype = std::string(labels.dtype),
          .shape = {chunks_[i]},
          .bytes = labels.bytes / chunks_[0] * chunks_[i]});
  }
}

int64_t DpProgram::criterion(int replica, Thread& thread, int64_t parent) {
  const Json args{{keys::module, "criterion"},
                  {keys::shapes, Json::array({output_of(chunks_[replica]).shape})}};
  IdList calls;
  for (const char* name :
       {"CrossEntropyLoss.__call__", "Module._call_impl", "CrossEntropyLoss.forward"}) {
    calls.push_back(program_.open(thread, categories::call, name, args));
  }
  program_.host(calls[0]).parent = parent;
  for (const Event* op : loss_ops(replicas_[replica])) {
    if (op->name.view() != kTopK) repeat_loss_op(*op, replica, thread);
  }
  for (auto call = calls.end(); call != calls.begin();) program_.close(thread, *--call);
  return calls[0];
}

void DpProgram::repeat_loss_op(const Event& op, int replica, Thread& thread) {
  program_.repeat(op, replica, thread.lane, thread.now - op.ts);
  program_.repeat_tasks(op.id, replica, [](Event&) {});
  thread.now += op.dur + 1;
}

void DpProgram::scalar_op(Thread& thread, int device, const char* op, const char* name,
                          const char* phase, int scalars) {
  const ModelTensor& any = first().step->parameters[0];
  const int64_t bytes = scalars * (any.bytes / std::max<int64_t>(1, any.numel));
  Json shapes = Json::array();
  for (int i = 1; i < scalars; ++i) shapes.push_back(Json::array());
  const int64_t id =
      program_.open(thread, categories::op, op,
                    {{keys::shapes, std::move(shapes)}, {keys::bytes, bytes}});
  program_.kernel({id, device, name, phase, bytes});
  program_.launch(thread);
  program_.close(thread, id);
}

ProcessProgram::Copy DpProgram::scalar_copy(const char* why, const char* tensor,
                                            const char* phase) const {
  const ModelTensor& any = first().step->parameters[0];
  return {.why = why,
          .phase = phase,
          .tensor = tensor,
          .dtype = any.dtype,
          .shape = {},
          .bytes = any.bytes / std::max<int64_t>(1, any.numel)};
}

void DpProgram::add_scalars(const char* why, const char* tensor, bool scaled,
                            const Event* computed) {
  size_t place = 0;  // of the operation among those of the loss
  const std::vector<const Event*> ops = loss_ops(first());
  if (computed != nullptr) {
    place = static_cast<size_t>(std::ranges::find(ops, computed) - ops.begin());
  }
  for (int i = 0; i < replicas() && computed != nullptr; ++i) {
    repeat_loss_op(*loss_ops(replicas_[i])[place], i, main_);
    if (scaled) scalar_op(main_, i, "aten::mul", "scale", phases::loss, 2);
  }
  for (int i = 1; i < replicas(); ++i) {
    ProcessProgram::Copy copy = scalar_copy(why, tensor, phases::loss);
    copy.src = i;
    copy.dst = 0;
    send(main_, "aten::to", copy);
    scalar_op(main_, 0, "aten::add", "add", phases::loss, 3);
  }
}

int64_t DpProgram::send_loss_grad(Thread& thread) {
  const Event* filled = nullptr;
  for (const Event* event : main_events_) {
    const bool between =
        event->ts >= first().backward->ts && event->end() <= first().join->ts;
    if (between && event->is(categories::op)) filled = event;
  }
  wait_at_once(thread, filled == nullptr ? IdList() : IdList{filled->id});
  const BackwardNode& recorded = first().loss[0];
  thread.now += std::max<int64_t>(0, recorded.op->ts - recorded.before);
  const Json scalar = Json::array({Json::array()});
  const int64_t scaled =
      program_.open(thread, categories::op, "MulBackward0", {{keys::shapes, scalar}});
  program_.host(scaled).parent = first().backward->id;
  scalar_op(thread, 0, "aten::mul", "scale", phases::backward, 2);
  program_.close(thread, scaled);
  wait_at_once(thread, {scaled});
  const int64_t sent =
      program_.open(thread, categories::op, "ReduceBackward", {{keys::shapes, scalar}});
  program_.host(sent).parent = first().backward->id;
  for (int i = 1; i < replicas(); ++i) {
    ProcessProgram::Copy copy =
        scalar_copy(reasons::loss_grad, "loss", phases::backward);
    copy.src = 0;
    copy.dst = i;
    send(thread, "aten::to", copy);
  }
  program_.close(thread, sent);
  return sent;
}

}  // namespace lockstep::tracer
