// rejected by: the_mean
// because: must be copied back
//
// A loop that ends one too early: the last parameter is not averaged.

// [solution-average]
const double share = 1.0 / group.size();
for (size_t i = 0; i < state.parameters.size(); ++i) {
  flat.pack(i, state.parameters[i].value, share);
}
group.all_reduce(flat.flat(), ReduceOp::sum, label()).wait();
for (size_t i = 0; i + 1 < state.parameters.size(); ++i) {
  flat.unpack(i, state.parameters[i].value);
}
return;
// [/solution-average]
