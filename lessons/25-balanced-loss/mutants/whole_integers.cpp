// rejected by: over_all
// because: 3 / 10 of integers is 0
//
// The misconception: 3 / 10 is 0.3. In C++ it is 0.

// [solution-whole]
  int64_t batch = 0;
  for (const Tensor& output : outputs) batch += output.size(0);
  Tensors shares = parallel::parallel_apply(criteria, outputs);
  for (size_t i = 0; i < shares.size(); ++i) {
    shares[i] = ops::scale(shares[i], double(outputs[i].size(0) / batch));
  }
  return reduce(shares);
// [/solution-whole]
