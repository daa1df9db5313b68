// rejected by: launched_in_turn
// because: no computation would be left to overlap with
//
// The misconception: buckets are there to save messages; they leave together, at the
// end.

// [solution-turn]
return;
// [/solution-turn]

// [solution-finish]
for (size_t p = 0; p < parameters_.size(); ++p) {
  if (!arrived_[p]) gradient_ready(p);
}
for (Progress& progress : buckets_) launch(progress);
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
