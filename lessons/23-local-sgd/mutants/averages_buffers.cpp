// rejected by: nothing_else
// because: Buffers are none
//
// The misconception: the model is averaged, with all that its state_dict has
// (horovod#2699).

// [solution-average]
const double share = 1.0 / group.size();
for (size_t i = 0; i < state.parameters.size(); ++i) {
  flat.pack(i, state.parameters[i].value, share);
}
group.all_reduce(flat.flat(), ReduceOp::sum, label()).wait();
for (size_t i = 0; i < state.parameters.size(); ++i) {
  flat.unpack(i, state.parameters[i].value);
}
for (const auto& [name, buffer] : state.buffers) {
  group.all_reduce(buffer, ReduceOp::sum, label()).wait();
}
return;
// [/solution-average]
