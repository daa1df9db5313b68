// rejected by: errors_in_turn
// because: an error is taken like a batch
//
// The misconception: an error does not count as a batch taken: the next call waits for
// the same number again.

// [solution-take]
std::unique_lock lock(mutex_);
std::optional<Made>& oldest = places_[taken_ % depth_];
ready_.wait(lock, [&] { return oldest.has_value(); });
Made made = std::move(*std::exchange(oldest, std::nullopt));
if (!made.error) ++taken_;
lock.unlock();
room_.notify_all();
return made;
// [/solution-take]
