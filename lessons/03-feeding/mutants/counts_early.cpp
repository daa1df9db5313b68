// rejected by: bounded
// because: a batch counts as taken once take has
//
// The misconception: the batch counts as taken before it is there, so there is room for
// one too many while take waits.

// [solution-take]
std::unique_lock lock(mutex_);
const int64_t number = taken_++;
room_.notify_all();
std::optional<Made>& oldest = places_[number % depth_];
ready_.wait(lock, [&] { return oldest.has_value(); });
return std::move(*std::exchange(oldest, std::nullopt));
// [/solution-take]
