// rejected by: no_gradient
// because: is never complete never leaves
//
// The misconception: every parameter gets a gradient in every step.

// [solution-finish]
for (Progress& progress : buckets_) {
  progress.work.wait();
  const plan::Bucket& members = progress.bucket.members();
  for (size_t i = 0; i < members.size(); ++i) {
    const Tensor& parameter = parameters_[members[i]].value;
    const Tensor mean = ops::full_like(parameter, 0);
    progress.bucket.unpack(i, mean);
    parameter.set_grad(mean);
  }
}
return;
// [/solution-finish]
