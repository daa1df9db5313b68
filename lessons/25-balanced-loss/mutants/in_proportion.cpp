// rejected by: mean_of_means
// because: this is DataParallel's loss
//
// The misconception: DataParallelCriterion computes DataParallel's loss.

// [solution-criterion]
  Tensors losses = parallel::parallel_apply(criteria, outputs);
  int64_t batch = 0;
  for (const Tensor& output : outputs) batch += output.size(0);
  for (size_t i = 0; i < losses.size(); ++i) {
    losses[i] = ops::scale(losses[i], double(outputs[i].size(0)) / double(batch));
  }
  return reduce(losses);
// [/solution-criterion]
