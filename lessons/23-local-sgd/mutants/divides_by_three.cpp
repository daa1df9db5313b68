// rejected by: the_mean
// because: there are 4 ranks
//
// The misconception: the example's number of ranks is the number of ranks.

// [solution-average]
for (size_t i = 0; i < state.parameters.size(); ++i) {
  flat.pack(i, state.parameters[i].value, 1.0 / 3);
}
group.all_reduce(flat.flat(), ReduceOp::sum, label()).wait();
for (size_t i = 0; i < state.parameters.size(); ++i) {
  flat.unpack(i, state.parameters[i].value);
}
return;
// [/solution-average]
