// rejected by: latest_first
// because: writes them into the trace
//
// The misconception: apply_node is node->apply by another name.

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
  const Tensors results = node->apply(std::move(come[node.get()]));
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
