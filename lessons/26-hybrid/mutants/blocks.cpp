// rejected by: at_once
// because: If the first call waits for the sum
//
// The misconception: the host waits for the sum. It has not begun the other parts yet.

// [solution-sum]
  for (size_t i = 0; i < gradients.size(); ++i) flat.pack(i, gradients[i], 1);
  const auto work = ring.all_reduce(flat.flat(), ReduceOp::sum, label());
  work.synchronize();
  return work;
// [/solution-sum]
