// rejected by: in_flight
// because: which gradients a bucket waited for
//
// The misconception: the all-reduce comes after all that the compute stream was given,
// so nothing has to be named. The numbers are right, but nobody can see from the trace
// why.

// [solution-ready]
const auto [number, member] = places_[parameter];
Progress& progress = buckets_[number];
arrived_[parameter] = true;
progress.bucket.pack(member, parameters_[parameter].value.grad(), 1.0 / divisor_);
if (--progress.missing == 0) launch_whose_turn_it_is();
return;
// [/solution-ready]
