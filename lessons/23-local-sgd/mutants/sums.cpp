// rejected by: the_mean
// because: this is the sum over the ranks
//
// The misconception: an all-reduce averages.

// [solution-average]
for (size_t i = 0; i < state.parameters.size(); ++i) {
  flat.pack(i, state.parameters[i].value, 1);
}
group.all_reduce(flat.flat(), ReduceOp::sum, label()).wait();
for (size_t i = 0; i < state.parameters.size(); ++i) {
  flat.unpack(i, state.parameters[i].value);
}
return;
// [/solution-average]
