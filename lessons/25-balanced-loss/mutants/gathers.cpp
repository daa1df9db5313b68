// rejected by: mean_of_means
// because: outputs stay where they are
//
// The misconception: the loss is computed on device 0, so the outputs have to be there.

// [solution-criterion]
  Tensors here;
  for (const Tensor& output : outputs) {
    here.push_back(ops::copy_to(output, outputs[0].device(), {"gather", "output"}));
  }
  const Tensors losses = parallel::parallel_apply(criteria, here);
  return ops::scale(reduce(losses), 1.0 / static_cast<double>(losses.size()));
// [/solution-criterion]
