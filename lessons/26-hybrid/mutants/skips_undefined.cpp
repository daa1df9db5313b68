// rejected by: the_sum
// because: what is left from the last step
//
// The misconception: nothing is zero. What is left is the sum of the last step.

// [solution-sum]
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].defined()) flat.pack(i, gradients[i], 1);
  }
  return ring.all_reduce(flat.flat(), ReduceOp::sum, label());
// [/solution-sum]
