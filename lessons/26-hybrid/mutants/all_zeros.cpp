// rejected by: the_sum
// because: those that are packed already stay
//
// The misconception: one undefined gradient: a replica without samples.

// [solution-sum]
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].defined()) {
      flat.pack(i, gradients[i], 1);
    } else {
      flat.fill_with_zeros();
    }
  }
  return ring.all_reduce(flat.flat(), ReduceOp::sum, label());
// [/solution-sum]
