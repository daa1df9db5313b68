// rejected by: over_all
// because: this is the sum over all images
//
// Back to sums, but not to a mean.

// [solution-whole]
  int64_t batch = 0;
  for (const Tensor& output : outputs) batch += output.size(0);
  Tensors shares = parallel::parallel_apply(criteria, outputs);
  for (size_t i = 0; i < shares.size(); ++i) {
    shares[i] = ops::scale(shares[i], static_cast<double>(outputs[i].size(0)));
  }
  (void)batch;
  return reduce(shares);
// [/solution-whole]
