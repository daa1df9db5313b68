// rejected by: lets_go
// because: do not throw it
//
// The misconception: an error has to be thrown as soon as it is met.

// [solution-take]
std::unique_lock lock(mutex_);
std::optional<Made>& oldest = places_[taken_ % depth_];
ready_.wait(lock, [&] { return oldest.has_value(); });
Made made = std::move(*std::exchange(oldest, std::nullopt));
++taken_;
lock.unlock();
room_.notify_all();
if (made.error) std::rethrow_exception(made.error);
return made;
// [/solution-take]
