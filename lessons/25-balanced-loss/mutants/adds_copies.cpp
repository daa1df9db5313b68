// rejected by: mean_of_means
// because: output 1 has no gradient: copies are not on the tape
//
// The misconception: ops::add is on the tape, and so is what it adds.

// [solution-criterion]
  const Tensors losses = parallel::parallel_apply(criteria, outputs);
  Tensor sum = losses[0];
  for (size_t i = 1; i < losses.size(); ++i) {
    sum = ops::add(sum, ops::copy_to(losses[i], sum.device(), {"loss", "loss"}));
  }
  return ops::scale(sum, 1.0 / static_cast<double>(losses.size()));
// [/solution-criterion]
