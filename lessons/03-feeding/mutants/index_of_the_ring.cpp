// rejected by: bounded
// because: `taken` counts all batches that were ever taken
//
// The misconception: taken_ is kept as an index of the ring (mod depth), but reserve
// compares it with numbers.

// [solution-take]
std::unique_lock lock(mutex_);
std::optional<Made>& oldest = places_[taken_ % depth_];
ready_.wait(lock, [&] { return oldest.has_value(); });
Made made = std::move(*std::exchange(oldest, std::nullopt));
taken_ = (taken_ + 1) % depth_;
lock.unlock();
room_.notify_all();
return made;
// [/solution-take]
