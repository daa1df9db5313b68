// rejected by: mean_of_means
// because: 1 / 3 of integers is 0
//
// The misconception: 1 / 3 is a third. In C++ it is 0.

// [solution-criterion]
  const Tensors losses = parallel::parallel_apply(criteria, outputs);
  return ops::scale(reduce(losses), 1 / losses.size());
// [/solution-criterion]
