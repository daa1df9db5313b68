// rejected by: mean_of_means
// because: as many times too large as there are chunks
//
// The misconception: each chunk's loss is a part of the loss. It is a mean already.
// (jiant#989)

// [solution-criterion]
  const Tensors losses = parallel::parallel_apply(criteria, outputs);
  return reduce(losses);
// [/solution-criterion]
