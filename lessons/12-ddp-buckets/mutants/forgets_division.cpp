// rejected by: means
// because: this is the sum over the ranks
//
// The misconception: an all-reduce averages.

// [solution-ready]
const auto [number, member] = places_[parameter];
Progress& progress = buckets_[number];
arrived_[parameter] = true;
progress.after.push_back(now(parameter));
progress.bucket.pack(member, parameters_[parameter].value.grad(), 1);
if (--progress.missing == 0) launch_whose_turn_it_is();
return;
// [/solution-ready]
