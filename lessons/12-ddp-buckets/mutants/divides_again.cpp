// rejected by: means
// because: it was divided twice
//
// The misconception: the all-reduce sums, so divide afterwards. It was divided when
// packed.

// [solution-finish]
for (size_t p = 0; p < parameters_.size(); ++p) {
  if (!arrived_[p]) gradient_ready(p);
}
for (Progress& progress : buckets_) {
  progress.work.wait();
  const plan::Bucket& members = progress.bucket.members();
  for (size_t i = 0; i < members.size(); ++i) {
    const Tensor& parameter = parameters_[members[i]].value;
    const Tensor mean = ops::full_like(parameter, 0);
    progress.bucket.unpack(i, mean);
    parameter.set_grad(ops::scale(mean, 1.0 / divisor_));
  }
}
return;
// [/solution-finish]
