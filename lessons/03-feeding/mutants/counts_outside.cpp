// rejected by: counted_in_time
// because: `taken` changes after the mutex is free
//
// The misconception: taken_ is atomic and therefore changed outside the mutex: a worker
// about to sleep misses the notification.

// [top]
#include <atomic>

// [/top]

// [solution-take]
std::unique_lock lock(mutex_);
std::optional<Made>& oldest = places_[taken_ % depth_];
ready_.wait(lock, [&] { return oldest.has_value(); });
Made made = std::move(*std::exchange(oldest, std::nullopt));
lock.unlock();
++taken_;
room_.notify_all();
return made;
// [/solution-take]

// [solution-members]
std::mutex mutex_;               // guards the rest
std::condition_variable room_;   // workers wait for it
std::condition_variable ready_;  // the training loop waits for it
std::vector<std::optional<Made>> places_{static_cast<size_t>(depth_)};
std::atomic<int64_t> taken_ = 0;
bool closed_ = false;
// [/solution-members]
