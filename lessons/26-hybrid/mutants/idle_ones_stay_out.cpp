// rejected by: the_sum
// because: each replica takes part in the all-reduce
//
// The misconception: who has no gradients has nothing to add.

// [solution-sum]
  if (!gradients[0].defined()) return {};
  for (size_t i = 0; i < gradients.size(); ++i) flat.pack(i, gradients[i], 1);
  return ring.all_reduce(flat.flat(), ReduceOp::sum, label());
// [/solution-sum]
