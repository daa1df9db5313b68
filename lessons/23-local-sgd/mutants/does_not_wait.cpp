// rejected by: the_mean
// because: the sum was not there yet
//
// The misconception: all_reduce returns when the sum is there.

// [solution-average]
const double share = 1.0 / group.size();
for (size_t i = 0; i < state.parameters.size(); ++i) {
  flat.pack(i, state.parameters[i].value, share);
}
group.all_reduce(flat.flat(), ReduceOp::sum, label());
for (size_t i = 0; i < state.parameters.size(); ++i) {
  flat.unpack(i, state.parameters[i].value);
}
return;
// [/solution-average]
