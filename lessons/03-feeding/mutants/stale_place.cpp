// rejected by: take_waits
// because: handed out again
//
// The misconception: taking leaves nothing to clean up.

// [solution-take]
std::unique_lock lock(mutex_);
std::optional<Made>& oldest = places_[taken_ % depth_];
ready_.wait(lock, [&] { return oldest.has_value(); });
Made made = *oldest;
++taken_;
lock.unlock();
room_.notify_all();
return made;
// [/solution-take]
