// rejected by: the_sum
// because: another division makes the steps of the features too small
//
// The misconception: gradients are averaged, as in DDP.

// [solution-sum]
  const double share = 1.0 / ring.size();
  for (size_t i = 0; i < gradients.size(); ++i) flat.pack(i, gradients[i], share);
  return ring.all_reduce(flat.flat(), ReduceOp::sum, label());
// [/solution-sum]
