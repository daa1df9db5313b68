// rejected by: trains
// because: places are reused
//
// The misconception: an epoch surely has fewer than 64 batches.

// [solution-put]
{
  std::lock_guard lock(mutex_);
  places_[number] = std::move(made);
}
ready_.notify_one();
return;
// [/solution-put]

// [solution-take]
std::unique_lock lock(mutex_);
std::optional<Made>& oldest = places_[taken_];
ready_.wait(lock, [&] { return oldest.has_value(); });
Made made = std::move(*std::exchange(oldest, std::nullopt));
++taken_;
lock.unlock();
room_.notify_all();
return made;
// [/solution-take]

// [solution-members]
std::mutex mutex_;
std::condition_variable room_, ready_;
std::vector<std::optional<Made>> places_{64};
int64_t taken_ = 0;
bool closed_ = false;
// [/solution-members]
