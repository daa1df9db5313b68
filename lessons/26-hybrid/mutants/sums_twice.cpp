// rejected by: the_sum
// because: each gradient of each replica, once
//
// To be on the safe side.

// [solution-sum]
  for (size_t i = 0; i < gradients.size(); ++i) flat.pack(i, gradients[i], 1);
  ring.all_reduce(flat.flat(), ReduceOp::sum, label());
  return ring.all_reduce(flat.flat(), ReduceOp::sum, label());
// [/solution-sum]
