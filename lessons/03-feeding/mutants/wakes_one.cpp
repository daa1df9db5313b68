// rejected by: take_wakes_all
// because: notify_one wakes one worker
//
// The misconception: one place became free, so one worker is to be woken.

// [solution-take]
std::unique_lock lock(mutex_);
std::optional<Made>& oldest = places_[taken_ % depth_];
ready_.wait(lock, [&] { return oldest.has_value(); });
Made made = std::move(*std::exchange(oldest, std::nullopt));
++taken_;
lock.unlock();
room_.notify_one();
return made;
// [/solution-take]
