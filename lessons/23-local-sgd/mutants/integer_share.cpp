// rejected by: the_mean
// because: of integers is 0
//
// The misconception: 1 / 3 is a third. In C++ it is 0.

// [solution-average]
const double share = 1 / group.size();
for (size_t i = 0; i < state.parameters.size(); ++i) {
  flat.pack(i, state.parameters[i].value, share);
}
group.all_reduce(flat.flat(), ReduceOp::sum, label()).wait();
for (size_t i = 0; i < state.parameters.size(); ++i) {
  flat.unpack(i, state.parameters[i].value);
}
return;
// [/solution-average]
