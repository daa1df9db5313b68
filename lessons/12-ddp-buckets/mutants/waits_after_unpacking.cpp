// rejected by: means
// because: wait() comes before unpack
//
// The misconception: wait() once at the end is enough for the optimizer.

// [solution-finish]
for (size_t p = 0; p < parameters_.size(); ++p) {
  if (!arrived_[p]) gradient_ready(p);
}
for (Progress& progress : buckets_) {
  const plan::Bucket& members = progress.bucket.members();
  for (size_t i = 0; i < members.size(); ++i) {
    const Tensor& parameter = parameters_[members[i]].value;
    const Tensor mean = ops::full_like(parameter, 0);
    progress.bucket.unpack(i, mean);
    parameter.set_grad(mean);
  }
  progress.work.wait();
}
return;
// [/solution-finish]
