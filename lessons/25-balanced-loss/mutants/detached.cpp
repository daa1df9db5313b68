// rejected by: mean_of_means
// because: nothing would be learnt
//
// The misconception: a loss is a number to be printed.

// [solution-criterion]
  Tensors losses = parallel::parallel_apply(criteria, outputs);
  for (Tensor& loss : losses) loss = loss.detach();
  return ops::scale(reduce(losses), 1.0 / static_cast<double>(losses.size()));
// [/solution-criterion]
