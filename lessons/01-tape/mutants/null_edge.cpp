// rejected by: chain
// because: accessed invalid memory
//
// The misconception: every edge has a node.

// [solution-count]
std::unordered_map<Node*, int> count;
std::unordered_set<Node*> seen{root};
std::vector<Node*> stack{root};
while (!stack.empty()) {
  Node* node = stack.back();
  stack.pop_back();
  for (const Edge& edge : node->next_edges) {
    ++count[edge.node.get()];
    if (seen.insert(edge.node.get()).second) stack.push_back(edge.node.get());
  }
}
return count;
// [/solution-count]
