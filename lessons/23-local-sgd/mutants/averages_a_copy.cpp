// rejected by: the_mean
// because: must be copied back
//
// The mistake of PyTorch's first PostLocalSGDOptimizer (pytorch#74157): what is
// averaged is a copy, and the parameters stay as they are.

// [solution-average]
const double share = 1.0 / group.size();
for (size_t i = 0; i < state.parameters.size(); ++i) {
  flat.pack(i, state.parameters[i].value, share);
}
group.all_reduce(flat.flat(), ReduceOp::sum, label()).wait();
return;
// [/solution-average]
