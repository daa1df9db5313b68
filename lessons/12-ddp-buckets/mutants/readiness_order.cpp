// rejected by: launched_in_turn
// because: a bucket left before its turn
//
// The misconception: a bucket leaves as soon as it is complete.

// [solution-ready]
const auto [number, member] = places_[parameter];
Progress& progress = buckets_[number];
arrived_[parameter] = true;
progress.after.push_back(now(parameter));
progress.bucket.pack(member, parameters_[parameter].value.grad(), 1.0 / divisor_);
if (--progress.missing == 0) launch(progress);
return;
// [/solution-ready]
