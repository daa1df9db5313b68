// rejected by: diamond
// because: how often each node ran
//
// The misconception: backward is a depth-first walk; a node runs whenever a gradient
// arrives.

// [solution-walk]
Tensors grads(root.node->output_count);
grads[root.input_nr] = std::move(grad);
const Tensors results = autograd::apply_node(*root.node, std::move(grads));
for (size_t i = 0; i < root.node->next_edges.size(); ++i) {
  if (root.node->next_edges[i].node) walk(root.node->next_edges[i], results[i]);
}
return;
// [/solution-walk]
