// rejected by: mean_of_means
// because: which the chunks' means have been already
//
// The misconception: a sum of losses is divided by the number of images. Those of the
// chunks have been.

// [solution-criterion]
  const Tensors losses = parallel::parallel_apply(criteria, outputs);
  int64_t batch = 0;
  for (const Tensor& output : outputs) batch += output.size(0);
  return ops::scale(reduce(losses), 1.0 / static_cast<double>(batch));
// [/solution-criterion]
