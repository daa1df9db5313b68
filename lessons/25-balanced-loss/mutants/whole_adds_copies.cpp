// rejected by: over_all
// because: output 1 has no gradient: copies are not on the tape
//
// The misconception: ops::add is on the tape, and so is what it adds.

// [solution-whole]
  int64_t batch = 0;
  for (const Tensor& output : outputs) batch += output.size(0);
  Tensors shares = parallel::parallel_apply(criteria, outputs);
  for (size_t i = 0; i < shares.size(); ++i) {
    const auto images = static_cast<double>(outputs[i].size(0));
    shares[i] = ops::scale(shares[i], images / static_cast<double>(batch));
  }
  Tensor sum = shares[0];
  for (size_t i = 1; i < shares.size(); ++i) {
    sum = ops::add(sum, ops::copy_to(shares[i], sum.device(), {"loss", "loss"}));
  }
  return sum;
// [/solution-whole]
