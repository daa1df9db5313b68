// rejected by: over_all
// because: once too often
//
// The misconception: a mean ends with a division by the number of chunks.

// [solution-whole]
  int64_t batch = 0;
  for (const Tensor& output : outputs) batch += output.size(0);
  Tensors shares = parallel::parallel_apply(criteria, outputs);
  for (size_t i = 0; i < shares.size(); ++i) {
    const auto images = static_cast<double>(outputs[i].size(0));
    shares[i] = ops::scale(shares[i], images / static_cast<double>(batch));
  }
  return ops::scale(reduce(shares), 1.0 / static_cast<double>(shares.size()));
// [/solution-whole]
