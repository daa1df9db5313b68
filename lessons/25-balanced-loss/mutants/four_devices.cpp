// rejected by: mean_of_means
// because: outputs, not devices
//
// The misconception: there are as many chunks as devices.

// [solution-criterion]
  const Tensors losses = parallel::parallel_apply(criteria, outputs);
  return ops::scale(reduce(losses), 1.0 / 4);
// [/solution-criterion]
