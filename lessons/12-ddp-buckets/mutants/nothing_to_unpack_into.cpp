// rejected by: no_gradient
// because: the mean was not written back
//
// The misconception: a parameter without a gradient stays without one.

// [solution-finish]
for (size_t p = 0; p < parameters_.size(); ++p) {
  if (!arrived_[p]) gradient_ready(p);
}
for (Progress& progress : buckets_) {
  progress.work.wait();
  const plan::Bucket& members = progress.bucket.members();
  for (size_t i = 0; i < members.size(); ++i) {
    const Tensor grad = parameters_[members[i]].value.grad();
    if (grad.defined()) progress.bucket.unpack(i, grad);
  }
}
return;
// [/solution-finish]
