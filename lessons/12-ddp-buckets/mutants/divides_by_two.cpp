// rejected by: means
// because: the number of ranks
//
// The misconception: the mean is half of the sum. (With two ranks it is.)

// [solution-ready]
const auto [number, member] = places_[parameter];
Progress& progress = buckets_[number];
arrived_[parameter] = true;
progress.after.push_back(now(parameter));
progress.bucket.pack(member, parameters_[parameter].value.grad(), 0.5);
if (--progress.missing == 0) launch_whose_turn_it_is();
return;
// [/solution-ready]
