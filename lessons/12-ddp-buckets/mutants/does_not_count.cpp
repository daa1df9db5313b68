// rejected by: launched_in_turn
// because: before its last gradient
//
// The misconception: buckets leave in order, whether they are complete or not.

// [solution-ready]
const auto [number, member] = places_[parameter];
Progress& progress = buckets_[number];
arrived_[parameter] = true;
progress.after.push_back(now(parameter));
progress.bucket.pack(member, parameters_[parameter].value.grad(), 1.0 / divisor_);
--progress.missing;
if (number == next_) launch(buckets_[next_++]);
return;
// [/solution-ready]

// [solution-finish]
for (size_t p = 0; p < parameters_.size(); ++p) {
  if (!arrived_[p]) gradient_ready(p);
}
while (next_ < buckets_.size()) launch(buckets_[next_++]);
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
