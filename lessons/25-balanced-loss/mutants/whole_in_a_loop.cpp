// rejected by: over_all
// because: parallel_apply has a thread for each
//
// The misconception: kernels are launched at once, so a loop will do.

// [solution-whole]
  int64_t batch = 0;
  for (const Tensor& output : outputs) batch += output.size(0);
  Tensors shares;
  for (size_t i = 0; i < outputs.size(); ++i) {
    shares.push_back((*criteria[i])(outputs[i]));
  }
  for (size_t i = 0; i < shares.size(); ++i) {
    const auto images = static_cast<double>(outputs[i].size(0));
    shares[i] = ops::scale(shares[i], images / static_cast<double>(batch));
  }
  return reduce(shares);
// [/solution-whole]
