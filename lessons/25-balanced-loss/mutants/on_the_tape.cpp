// rejected by: the_way_back
// because: the tape ends at the copy of this loss
//
// The misconception: without detach() the tape sees everything, also a copy.

// [solution-reduce]
  Tensor sum = losses[0];
  for (size_t i = 1; i < losses.size(); ++i) {
    sum = ops::add(sum, ops::copy_to(losses[i], sum.device(), {"loss", "loss"}));
  }
  return sum;
// [/solution-reduce]
