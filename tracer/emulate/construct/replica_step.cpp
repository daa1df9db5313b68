#include "tracer/emulate/construct/replica_step.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string_view>

#include "tracer/format/facts.h"

namespace lockstep::tracer {
namespace {

constexpr std::string_view kLeaf = "AccumulateGrad";

[[noreturn]] void cannot_share(const char* what) {
  throw std::runtime_error(std::string("the recorded step ") + what +
                           ", so its network cannot be replicated; fix: record one "
                           "with `train --mode single --trace FILE`");
}

const Event& input_copy(const RecordedStep& step, std::string_view tensor) {
  for (const Event& event : step.events) {
    if (!event.is(categories::copy)) continue;
    const CopyFacts copy = copy_facts(event);
    if (copy.why == reasons::h2d && copy.tensor == tensor) return event;
  }
  cannot_share("does not copy its batch to the device");
}

const Event& event_of(const RecordedStep& step, int64_t id) {
  for (const Event& event : step.events) {
    if (event.id == id) return event;
  }
  cannot_share("does not say what copied its batch");
}

const Event& call_of_model(const RecordedStep& step, const Event& forward) {
  for (const Event& event : step.events) {
    if (event.is(categories::call) && lane_of(event) == lane_of(forward) &&
        event.ts >= forward.ts && event.end() <= forward.end()) {
      return event;
    }
  }
  cannot_share("does not call a network");
}

bool inside(const Event& event, const Event& around) {
  return lane_of(event) == lane_of(around) && event.ts >= around.ts &&
         event.end() <= around.end();
}

/// Splits what the backward thread did into nodes: a node ends with its operation.
std::vector<BackwardNode> nodes_of(const std::vector<const Event*>& thread) {
  std::vector<BackwardNode> nodes;
  for (const Event* event : thread) {
    const BackwardNode* open = nodes.empty() ? nullptr : &nodes.back();
    const bool over =
        open == nullptr || (open->op != nullptr && event->ts > open->op->end());
    if (over) {
      const int64_t before = open == nullptr ? event->ts : open->op->end();
      nodes.emplace_back().before = before;
    }
    BackwardNode& node = nodes.back();
    node.events.push_back(event);
    if (event->is(categories::sync) && node.op == nullptr) node.wait = event;
    if (event->is(categories::op) && node.op == nullptr) node.op = event;
  }
  if (!nodes.empty() && nodes.back().op == nullptr) nodes.pop_back();
  return nodes;
}

std::string_view param_of(const BackwardNode& node) {
  for (const Event* event : node.events) {
    if (event->name == names::grad_hook) return text_arg(event->args, keys::param);
  }
  return "";
}

}  // namespace

ReplicaStep::ReplicaStep(const RecordedStep& recorded) : step(&recorded) {
  whole = &find_phase(recorded, names::step);
  forward = &find_phase(recorded, phases::forward);
  join = &end_of_backward(recorded);
  images = &input_copy(recorded, "images");
  images_op = &event_of(recorded, images->op);
  labels_op = &event_of(recorded, input_copy(recorded, "labels").op);
  const Event& call = call_of_model(recorded, *forward);
  const LaneKey lane = recorded.ready.front().lane;

  std::vector<const Event*> of_thread;
  std::map<int64_t, const Event*> in_model;
  std::map<std::string_view, const Event*> marks;
  for (const Event& event : recorded.events) {
    if (is_task(event)) continue;
    if (event.name == names::grad_ready) {
      marks[text_arg(event.args, keys::param)] = &event;
    } else if (lane_of(event) == lane) {
      of_thread.push_back(&event);
    } else if (inside(event, call)) {
      model.push_back(&event);
      in_model[event.id] = &event;
    } else if (!inside(event, *images_op)) {
      main.push_back(&event);
    }
  }
  std::map<std::string_view, BackwardNode> by_parameter;
  thread = nodes_of(of_thread);
  for (BackwardNode node : thread) {
    if (node.op->name.view() == kLeaf) {
      for (const int64_t id : node.wait == nullptr ? IdList() : node.wait->waits_for) {
        leaf_made_by.push_back(id);
      }
      by_parameter[param_of(node)] = std::move(node);
    } else if (nodes.empty() && !in_model.contains(node.op->fwd)) {
      loss.push_back(std::move(node));
    } else {
      nodes.push_back(std::move(node));
    }
  }
  for (const ModelTensor& parameter : recorded.parameters) {
    leaves.push_back(by_parameter[parameter.name]);
    grad_ready.push_back(marks[parameter.name]);
  }
  if (!of_thread.empty()) backward = &event_of(recorded, of_thread.front()->parent);
  const bool whole_pass = !loss.empty() && !nodes.empty() &&
                          std::all_of(leaves.begin(), leaves.end(),
                                      [](const auto& leaf) { return leaf.op; }) &&
                          std::all_of(grad_ready.begin(), grad_ready.end(),
                                      [](const Event* mark) { return mark; });
  if (!whole_pass) cannot_share("does not record its backward pass node by node");
}

}  // namespace lockstep::tracer
