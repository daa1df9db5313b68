// rejected by: no_gradient
// because: still holds the gradients of the step before
//
// The misconception: to send a bucket is enough; where no gradient came, nothing needs
// to be written.

// [solution-finish]
for (size_t p = 0; p < parameters_.size(); ++p) {
  if (!arrived_[p]) --buckets_[places_[p].bucket].missing;
}
launch_whose_turn_it_is();
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
