// rejected by: over_all
// because: in proportion to its own number of images
//
// The misconception: all chunks are as large as the first.

// [solution-whole]
  int64_t batch = 0;
  for (const Tensor& output : outputs) batch += output.size(0);
  Tensors shares = parallel::parallel_apply(criteria, outputs);
  const auto size = static_cast<double>(outputs[0].size(0));
  for (Tensor& share : shares) share = ops::scale(share, size / double(batch));
  return reduce(shares);
// [/solution-whole]
