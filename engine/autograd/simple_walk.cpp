#include "engine/autograd/engine.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace lockstep::autograd {
namespace {

/// Returns all nodes reachable from `root` without passing `ends`, latest in forward
/// order first. An operation can only use results of earlier ones, so every node
/// follows those that feed it. The nodes of leaves, which have no successors, come
/// last.
std::vector<Node*> backward_order(Node* root, const std::vector<Edge>& ends) {
  std::vector<Node*> nodes{root};
  std::unordered_set<Node*> seen{root};
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const Edge& edge : nodes[i]->next_edges) {
      if (std::find(ends.begin(), ends.end(), edge) != ends.end()) continue;
      Node* next = edge.node.get();
      if (next && seen.insert(next).second) nodes.push_back(next);
    }
  }
  std::sort(nodes.begin(), nodes.end(), [](const Node* a, const Node* b) {
    return std::pair(!a->next_edges.empty(), a->sequence_nr()) >
           std::pair(!b->next_edges.empty(), b->sequence_nr());
  });
  return nodes;
}

}  // namespace

void simple_walk(const Edge& root, Tensor grad) { walk_to({}, root, std::move(grad)); }

Tensors walk_to(const std::vector<Edge>& ends, const Edge& root, Tensor grad) {
  std::unordered_map<Node*, Tensors> gradients;  // accumulated, per output of each node
  const auto add = [&](const Edge& edge, Tensor more) {
    Tensors& outputs = gradients[edge.node.get()];
    outputs.resize(edge.node->output_count);
    Tensor& sum = outputs[edge.input_nr];
    sum = accumulate_grad(std::move(sum), std::move(more));
  };
  add(root, std::move(grad));
  for (Node* node : backward_order(root.node.get(), ends)) {
    Tensors results = apply_node(*node, std::move(gradients[node]));
    results.resize(node->next_edges.size());
    for (size_t i = 0; i < results.size(); ++i) {
      if (node->next_edges[i].node) add(node->next_edges[i], std::move(results[i]));
    }
  }
  Tensors arrived;
  for (const Edge& end : ends) {
    const Tensors& outputs = gradients[end.node.get()];
    arrived.push_back(end.input_nr < outputs.size() ? outputs[end.input_nr] : Tensor());
  }
  return arrived;
}

}  // namespace lockstep::autograd
