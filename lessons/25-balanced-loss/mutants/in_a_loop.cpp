// rejected by: mean_of_means
// because: parallel_apply has a thread for each
//
// The misconception: kernels are launched at once, so a loop will do.

// [solution-criterion]
  Tensors losses;
  for (size_t i = 0; i < outputs.size(); ++i) {
    losses.push_back((*criteria[i])(outputs[i]));
  }
  return ops::scale(reduce(losses), 1.0 / static_cast<double>(losses.size()));
// [/solution-criterion]
