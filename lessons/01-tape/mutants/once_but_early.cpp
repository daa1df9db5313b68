// rejected by: residual_block
// because: it accumulates only part of the gradient
//
// The misconception: each node runs once, so the first gradient that comes is enough.

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
    if (missing[edge.node.get()]-- ==
        gradients_to_come(root.node.get())[edge.node.get()]) {
      ready.push(edge.node);
    }
  }
}
return;
// [/solution-walk]
