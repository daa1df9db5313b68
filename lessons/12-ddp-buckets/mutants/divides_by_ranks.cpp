// rejected by: divisor
// because: divide by divisor_ when packing
//
// The misconception: divides by the number of ranks of the group, whatever set_divisor
// said.

// [solution-ready]
const auto [number, member] = places_[parameter];
Progress& progress = buckets_[number];
arrived_[parameter] = true;
progress.after.push_back(now(parameter));
progress.bucket.pack(member, parameters_[parameter].value.grad(), 1.0 / group_.size());
if (--progress.missing == 0) launch_whose_turn_it_is();
return;
// [/solution-ready]
