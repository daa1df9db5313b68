// rejected by: launched_in_turn
// because: before its last gradient
//
// The misconception: a bucket leaves when its gradients begin to arrive.

// [solution-ready]
const auto [number, member] = places_[parameter];
Progress& progress = buckets_[number];
arrived_[parameter] = true;
progress.after.push_back(now(parameter));
progress.bucket.pack(member, parameters_[parameter].value.grad(), 1.0 / divisor_);
if (progress.missing-- == progress.bucket.members().size()) launch(progress);
return;
// [/solution-ready]
