// rejected by: in_order
// because: the queue must have `depth` places
//
// The misconception: the ring has 8 places, the depth of the chapter's -j 4, so deeper
// queues overwrite batches.

// [solution-put]
{
  std::lock_guard lock(mutex_);
  places_[number % kPlaces] = std::move(made);
}
ready_.notify_one();
return;
// [/solution-put]

// [solution-take]
std::unique_lock lock(mutex_);
std::optional<Made>& oldest = places_[taken_ % kPlaces];
ready_.wait(lock, [&] { return oldest.has_value(); });
Made made = std::move(*std::exchange(oldest, std::nullopt));
++taken_;
lock.unlock();
room_.notify_all();
return made;
// [/solution-take]

// [solution-members]
std::mutex mutex_;                     // guards the rest
std::condition_variable room_;         // workers wait for it
std::condition_variable ready_;        // the training loop waits for it
static constexpr int64_t kPlaces = 8;  // 2 for each of 4 workers
std::optional<Made> places_[kPlaces];
int64_t taken_ = 0;
bool closed_ = false;
// [/solution-members]
