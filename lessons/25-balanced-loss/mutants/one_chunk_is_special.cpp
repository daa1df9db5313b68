// rejected by: mean_of_means
// because: a criterion gets outputs, also if there is only one
//
// The misconception: with one device the criterion gets a loss. (It gets an output.)

// [solution-criterion]
  if (outputs.size() == 1) return outputs[0];
  const Tensors losses = parallel::parallel_apply(criteria, outputs);
  return ops::scale(reduce(losses), 1.0 / static_cast<double>(losses.size()));
// [/solution-criterion]
