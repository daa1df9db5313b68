// rejected by: put_wakes_the_loop
// because: workers and the training loop wait on the same
//
// The misconception: one condition variable for all and notify_one in put, which may
// wake a worker instead of the loop.

// [solution-reserve]
std::unique_lock lock(mutex_);
changed_.wait(lock, [&] { return closed_ || number < taken_ + depth_; });
return !closed_;
// [/solution-reserve]

// [solution-put]
{
  std::lock_guard lock(mutex_);
  places_[number % depth_] = std::move(made);
}
changed_.notify_one();
return;
// [/solution-put]

// [solution-take]
std::unique_lock lock(mutex_);
std::optional<Made>& oldest = places_[taken_ % depth_];
changed_.wait(lock, [&] { return oldest.has_value(); });
Made made = std::move(*std::exchange(oldest, std::nullopt));
++taken_;
lock.unlock();
changed_.notify_all();
return made;
// [/solution-take]

// [solution-close]
{
  std::lock_guard lock(mutex_);
  closed_ = true;
}
changed_.notify_all();
return;
// [/solution-close]

// [solution-members]
std::mutex mutex_;  // guards the rest
std::condition_variable changed_;
std::vector<std::optional<Made>> places_{static_cast<size_t>(depth_)};
int64_t taken_ = 0;
bool closed_ = false;
// [/solution-members]
