// rejected by: diamond
// because: count each edge once
//
// The misconception: a node that is reached along two paths is visited twice; the nodes
// after it then wait for gradients that never arrive.

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
    stack.push_back(edge.node.get());
  }
}
return count;
// [/solution-count]
