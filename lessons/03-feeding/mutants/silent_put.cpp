// rejected by: take_waits
// because: sleeps and is never woken
//
// The misconception: a condition variable detects by itself that its condition holds.

// [solution-put]
std::lock_guard lock(mutex_);
places_[number % depth_] = std::move(made);
return;
// [/solution-put]
