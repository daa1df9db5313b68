// rejected by: one_message
// because: each message costs its latency
//
// The misconception: a message for each parameter is as good.

// [solution-sum]
  distributed::Work last;
  for (size_t i = 0; i < gradients.size(); ++i) {
    flat.pack(i, gradients[i], 1);
    last = ring.all_reduce(flat.view(i), ReduceOp::sum, label());
  }
  return last;
// [/solution-sum]
