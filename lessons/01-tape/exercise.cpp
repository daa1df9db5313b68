// Lesson 01: one step and its tape. Record an operation on the tape, then walk the tape
// back.
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "engine/autograd/engine.h"
#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"
#include "lessons/plugin.h"

using namespace lockstep;
using autograd::Edge;
using autograd::Node;

/// a · b, element by element: computed and traced, but not on the tape.
Tensor times(const Tensor& a, const Tensor& b) {
  const ops::OpCall op("aten::mul", {a, b}, std::source_location::current());
  return ops::compute_one(OpCode::multiply, {a, b}, a.sizes());
}

/// An operation of your own: y = a · b, element by element, with its gradient.
///
/// `autograd::set_history(name, inputs, outputs, forward_op, formula)` attaches a node
/// to `outputs`. The formula is a lambda: the backward pass calls it with the gradients
/// of the outputs ({dy}), and it returns those of the inputs, in order ({da, db}). It
/// captures the tensors that it needs by value, without their history: `a.detach()`.
/// Inside, `times` computes products. Pass tracer::kNone as `forward_op`.
Tensor product(const Tensor& a, const Tensor& b) {
  const Tensor y = times(a, b);
  // [solution-product]
  autograd::set_history("MulBackward0", {a, b}, {y}, tracer::kNone,
                        [a = a.detach(), b = b.detach()](Tensors grads) -> Tensors {
                          return {times(grads[0], b), times(grads[0], a)};
                        });
  return y;
  // [/solution-product]
  lessons::not_written("product: how do da and db follow from dy?");
}

/// How many gradients each node below `root` will receive: one for each edge that leads
/// to it. `node->next_edges` are a node's edges; an edge without a node (`edge.node` is
/// null) leads nowhere. Many edges may lead to one node: look at its own edges once.
std::unordered_map<Node*, int> gradients_to_come(Node* root) {
  // [solution-count]
  std::unordered_map<Node*, int> count;
  std::unordered_set<Node*> seen{root};
  std::vector<Node*> stack{root};
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    for (const Edge& edge : node->next_edges) {
      if (!edge.node) continue;
      ++count[edge.node.get()];
      if (seen.insert(edge.node.get()).second) stack.push_back(edge.node.get());
    }
  }
  return count;
  // [/solution-count]
  lessons::not_written("gradients_to_come: how many edges lead to each node?");
}

/// Orders nodes that are ready to run; `top()` is the latest in forward order. An
/// AccumulateGrad, which stores a parameter's gradient, precedes all others: its number
/// is the highest.
struct Earlier {
  bool operator()(const NodePtr& a, const NodePtr& b) const {
    return a->sequence_nr() < b->sequence_nr();
  }
};
using ReadyNodes = std::priority_queue<NodePtr, std::vector<NodePtr>, Earlier>;

/// Runs every node reachable from `root` once, when all of its gradients have arrived.
///
/// `grad` goes into input `root.input_nr` of `root.node`. A node takes a list of
/// `node->output_count` gradients, one for each of its inputs; an undefined one
/// (`Tensor()`) stands for zero. `autograd::apply_node(*node, grads)` runs it and
/// returns one gradient for each of its `next_edges`, possibly undefined. Each belongs
/// to input `edge.input_nr` of `edge.node`; `autograd::accumulate_grad(a, b)` adds two
/// gradients and handles undefined ones.
void walk(const Edge& root, Tensor grad) {
  // [solution-walk]
  std::unordered_map<Node*, int> missing = gradients_to_come(root.node.get());
  std::unordered_map<Node*, Tensors> come;
  come[root.node.get()] = Tensors(root.node->output_count);
  come[root.node.get()][root.input_nr] = std::move(grad);
  ReadyNodes ready;
  ready.push(root.node);
  while (!ready.empty()) {
    const NodePtr node = ready.top();
    ready.pop();
    const Tensors results = autograd::apply_node(*node, std::move(come[node.get()]));
    come.erase(node.get());
    for (size_t i = 0; i < node->next_edges.size(); ++i) {
      const Edge& edge = node->next_edges[i];
      if (!edge.node) continue;
      Tensors& grads = come[edge.node.get()];
      grads.resize(edge.node->output_count);
      Tensor& sum = grads[edge.input_nr];
      sum = autograd::accumulate_grad(std::move(sum), results[i]);
      if (--missing[edge.node.get()] == 0) ready.push(edge.node);
    }
  }
  return;
  // [/solution-walk]
  lessons::not_written("walk: which node can run first, and which one after it?");
}

/// The check finds your operation through this; do not change it.
extern "C" void lesson_product(const Tensor& a, const Tensor& b, Tensor& y) {
  y = product(a, b);
}

LOCKSTEP_LESSON(1) { autograd::tape_walk().plug(walk); }
