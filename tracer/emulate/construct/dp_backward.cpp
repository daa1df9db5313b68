#include "tracer/emulate/construct/dp_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "tracer/format/facts.h"

namespace lockstep::tracer {

void DpProgram::backward() {
  const ReplicaStep& step = first();
  const int64_t shift = shift_at(step.join->ts);
  Thread thread{lane_of(*step.loss[0].op), step.loss[0].before + shift};
  if (devices_ == 1) return repeat_backward(thread);
  const int64_t start = thread.now;
  int64_t scattered = kNone;
  if (loss_on_each_) {
    scattered = send_loss_grad(thread);
  } else {
    scattered = scatter_grad(thread, backward_on_first(thread));
  }
  const int64_t until = thread.now;

  std::vector<Thread> threads{thread};
  for (int i = 0; i < replicas(); ++i) {
    if (i > 0) {
      threads.push_back(
          program_.new_thread(fmt::format("autograd {}:{}", device_type_, i), start));
      wait(threads[i], {scattered}, until);
    }
    backward_of_network(i, threads[i], {scattered});
  }
  IdList last{kNone};  // of device 0: its last gradient
  int64_t over = 0;
  for (int i = 0; i < replicas(); ++i) over = std::max(over, threads[i].now);
  for (int i = 1; i < replicas(); ++i) {
    last.push_back(
        program_.id_of(wrapped_nodes(replicas_[i]).back().op->id, step_of(i)));
  }
  for (size_t i = 0; i < step.leaves.size(); ++i) {
    if (!is_wrapped(step.step->parameters[i].name)) continue;
    last[0] = program_.id_of(step.leaves[i].op->id, 0);
  }
  reduce(threads[0], over);
  over = std::max(over, threads[0].now);
  join_waits_for_ = last;
  continue_main(step.join->end(), over + lag_of_join());
}

void DpProgram::repeat_backward(Thread& thread) {
  const ReplicaStep& step = first();
  for (const Event& event : step.step->events) {
    if (is_task(event) || event.name == names::grad_ready) continue;
    if (!(lane_of(event) == thread.lane)) continue;
    program_.repeat(event, 0, thread.lane, shift_at(step.join->ts));
    program_.repeat_tasks(event.id, 0, [](Event&) {});
    if (event.name != names::grad_hook) continue;
    for (size_t i = 0; i < step.leaves.size(); ++i) {
      if (text_arg(event.args, keys::param) == step.step->parameters[i].name) {
        program_.grad_ready(*step.grad_ready[i]);
      }
    }
  }
}

void DpProgram::repeat_node(const BackwardNode& node, int place, int replica,
                            Thread& thread, const IdList& waits_for,
                            bool of_whole_batch) {
  program_.repeat_node(node, {place, replica, first().backward->id}, thread, waits_for,
                       [&](Event& event) {
                         if (of_whole_batch) widen_(event);
                       });
}

int64_t DpProgram::backward_on_first(Thread& thread) {
  std::vector<BackwardNode> nodes = first().loss;
  if (features_) {
    const int64_t own = wrapped_nodes(first()).front().op->id;
    nodes = first().thread;
    nodes.erase(std::ranges::find(nodes, own,
                                  [](const BackwardNode& node) { return node.op->id; }),
                nodes.end());
  }
  int64_t last = kNone;
  for (const BackwardNode& node : nodes) {
    repeat_node(node, 0, 0, thread, {}, !features_);
    size_t leaf = 0;
    while (leaf < first().leaves.size() && first().leaves[leaf].op != node.op) ++leaf;
    if (leaf < first().leaves.size()) {
      program_.grad_ready(*first().grad_ready[leaf]);
    } else {
      last = node.op->id;
    }
  }
  return last;
}

void DpProgram::wait(Thread& thread, const IdList& waits_for, int64_t until) {
  const BackwardNode& recorded = first().loss[0];
  int64_t awaited = recorded.wait == nullptr ? 0 : recorded.wait->ts;
  for (const Event* event : main_events_) {
    if (recorded.wait == nullptr) break;
    for (const int64_t id : recorded.wait->waits_for) {
      if (event->id == id) awaited = std::max(awaited, event->end());
    }
  }
  const int64_t woken = recorded.wait == nullptr ? 0 : recorded.wait->end() - awaited;
  const int64_t goes_on =
      recorded.wait == nullptr ? 0 : recorded.op->ts - recorded.wait->end();
  const int64_t id = program_.open(thread, categories::sync, "autograd queue",
                                   {{keys::why, reasons::queue}});
  thread.now = std::max(thread.now, until + std::max<int64_t>(0, woken));
  program_.close(thread, id);
  Event& sync = program_.host(id);
  sync.waits_for = waits_for;
  sync.parent = first().backward->id;
  thread.now += std::max<int64_t>(0, goes_on);
}

void DpProgram::wait_at_once(Thread& thread, const IdList& waits_for) {
  const int64_t id = program_.open(thread, categories::sync, "autograd queue",
                                   {{keys::why, reasons::queue}});
  program_.close(thread, id);
  program_.host(id).waits_for = waits_for;
  program_.host(id).parent = first().backward->id;
}

int64_t DpProgram::scatter_grad(Thread& thread, int64_t before) {
  wait_at_once(thread, {before});
  const int64_t id =
      program_.open(thread, categories::op, "GatherBackward",
                    {{keys::shapes, Json::array({output_of(batch_).shape})}});
  for (int i = 1; i < replicas(); ++i) {
    ProcessProgram::Copy grad = output_of(chunks_[i]);
    grad.src = 0;
    grad.dst = i;
    grad.why = reasons::grad_scatter;
    grad.phase = phases::backward;
    send(thread, "aten::to", grad);
  }
  program_.close(thread, id);
  program_.host(id).fwd = gather_;
  program_.host(id).parent = first().backward->id;
  return id;
}

void DpProgram::backward_of_network(int replica, Thread& thread,
                                    const IdList& scattered) {
  bool woken = replica > 0;
  IdList waits_for = scattered;
  std::vector<BackwardNode> nodes = wrapped_nodes(replicas_[replica]);
  const std::vector<BackwardNode>& loss = replicas_[replica].loss;
  if (loss_on_each_) nodes.insert(nodes.begin(), loss.begin(), loss.end());
  for (BackwardNode& node : nodes) {
    if (std::exchange(woken, false)) {  // it has already waited
      node.before = node.op->ts;
      std::erase(node.events, node.wait);
    } else if (!waits_for.empty()) {
      node.before = node.events[0]->ts;
    }
    repeat_node(node, step_of(replica), replica, thread, std::exchange(waits_for, {}));
  }
}

void DpProgram::reduce(Thread& thread, int64_t over) {
  IdList made_by;
  for (int i = 0; i < replicas(); ++i) {
    const std::vector<BackwardNode> nodes = wrapped_nodes(replicas_[i]);
    for (const int64_t id : replicas_[i].leaf_made_by) {
      const bool own = std::ranges::any_of(
          nodes, [id](const BackwardNode& node) { return node.op->id == id; });
      if (own || !features_) made_by.push_back(program_.id_of(id, step_of(i)));
    }
  }
  wait(thread, made_by, over);
  const int64_t id = program_.open(thread, categories::op, "BroadcastBackward",
                                   {{keys::shapes, shapes_of_gradients()}});
  program_.host(id).fwd = replicate_;
  program_.host(id).parent = first().backward->id;
  reduce_groups(thread);
  program_.close(thread, id);
  for (size_t i = 0; i < first().leaves.size(); ++i) {
    if (!is_wrapped(first().step->parameters[i].name)) continue;
    BackwardNode leaf = first().leaves[i];
    leaf.before = leaf.events[0]->ts - 1;
    repeat_node(leaf, 0, 0, thread, {id});
    program_.grad_ready(*first().grad_ready[i]);
  }
}

void DpProgram::reduce_groups(Thread& thread) {
  const int64_t id = program_.open(thread, categories::phase, phases::reduce);
  const Coalesced all = replicated(*first().step, wrapped_)[0];
  IdList ready;  // of each replica: its gradients
  for (int i = 0; i < replicas(); ++i) ready.push_back(program_.last_kernel(i));
  int64_t moved = 0;
  for (const plan::Group& group : plan::coalesce_reduce(all.bytes)) {
    const int64_t bytes = all.bytes_of(group);
    for (int i = 0; i < replicas(); ++i) {
      program_.kernel({id, i, "flatten_many", phases::reduce, 2 * bytes});
      program_.launch(thread);
      moved += 2 * bytes;
    }
    const ProcessProgram::Copy copy{.why = reasons::reduce,
                                    .phase = phases::reduce,
                                    .tensor = "group",
                                    .dtype = all.dtype,
                                    .shape = {all.numel_of(group)},
                                    .bytes = bytes};
    if (uses_nccl()) {
      std::vector<int> along(replicas());
      std::iota(along.rbegin(), along.rend(), 0);
      for (const int i : along) ready.push_back(program_.last_kernel(i));
      hand_on(thread, "nccl::reduce", copy, along, std::exchange(ready, {}));
    } else {
      add_each(thread, copy, ready);
    }
  }
  program_.host(id).args[keys::bytes] = moved;
  program_.close(thread, id);
}

void DpProgram::add_each(Thread& thread, const ProcessProgram::Copy& group,
                         IdList& ready) {
  const int64_t bytes = group.bytes;
  const Json shapes = Json::array({group.shape, group.shape});
  for (int i = 1; i < replicas(); ++i) {
    ProcessProgram::Copy copy = group;
    copy.src = i;
    copy.dst = 0;
    send(thread, "aten::to", copy, std::exchange(ready, {}));
    const int64_t op =
        program_.open(thread, categories::op, "aten::add_",
                      {{keys::shapes, shapes}, {keys::bytes, 3 * bytes}});
    program_.kernel({op, 0, "add", phases::reduce, 3 * bytes});
    program_.launch(thread);
    program_.close(thread, op);
  }
}

int64_t DpProgram::lag_of_join() const {
  int64_t last = first().join->ts;
  for (const BackwardNode& leaf : first().leaves) last = std::max(last, leaf.op->end());
  for (const BackwardNode& node : first().nodes) last = std::max(last, node.op->end());
  return std::max<int64_t>(0, first().join->end() - last);
}

Json DpProgram::shapes_of_gradients() const {
  Json shapes = Json::array();
  for (int i = 0; i < replicas(); ++i) {
    for (const ModelTensor& tensor : first().step->parameters) {
      if (is_wrapped(tensor.name)) shapes.push_back(tensor.shape);
    }
  }
  return shapes;
}

}  // namespace lockstep::tracer
