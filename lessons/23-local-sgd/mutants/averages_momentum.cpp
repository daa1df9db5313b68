// rejected by: nothing_else
// because: stays on its rank
//
// The misconception: the momentum belongs to the weights, so it is averaged with them.

// [solution-average]
const double share = 1.0 / group.size();
for (const distributed::Parameters* tensors : {&state.parameters, &state.optimizer}) {
  for (size_t i = 0; i < tensors->size(); ++i) {
    flat.pack(i, (*tensors)[i].value, share);
  }
  group.all_reduce(flat.flat(), ReduceOp::sum, label()).wait();
  for (size_t i = 0; i < tensors->size(); ++i) flat.unpack(i, (*tensors)[i].value);
}
return;
// [/solution-average]
