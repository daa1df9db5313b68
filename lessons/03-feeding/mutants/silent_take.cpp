// rejected by: bounded
// because: woke no worker
//
// The misconception: only put changes what other threads wait for.

// [solution-take]
std::unique_lock lock(mutex_);
std::optional<Made>& oldest = places_[taken_ % depth_];
ready_.wait(lock, [&] { return oldest.has_value(); });
Made made = std::move(*std::exchange(oldest, std::nullopt));
++taken_;
return made;
// [/solution-take]
