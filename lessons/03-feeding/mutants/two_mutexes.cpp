// rejected by: locked
// because: one mutex guards what both access
//
// The misconception: a mutex for each condition variable: taken_ is written under one
// and read under the other.

// [solution-reserve]
std::unique_lock lock(room_mutex_);
room_.wait(lock, [&] { return closed_ || number < taken_ + depth_; });
return !closed_;
// [/solution-reserve]

// [solution-put]
{
  std::lock_guard lock(ready_mutex_);
  places_[number % depth_] = std::move(made);
}
ready_.notify_one();
return;
// [/solution-put]

// [solution-take]
std::unique_lock lock(ready_mutex_);
std::optional<Made>& oldest = places_[taken_ % depth_];
ready_.wait(lock, [&] { return oldest.has_value(); });
Made made = std::move(*std::exchange(oldest, std::nullopt));
++taken_;
lock.unlock();
room_.notify_all();
return made;
// [/solution-take]

// [solution-close]
{
  std::lock_guard lock(room_mutex_);
  closed_ = true;
}
room_.notify_all();
return;
// [/solution-close]

// [solution-members]
std::mutex room_mutex_, ready_mutex_;
std::condition_variable room_;   // workers wait for it
std::condition_variable ready_;  // the training loop waits for it
std::vector<std::optional<Made>> places_{static_cast<size_t>(depth_)};
int64_t taken_ = 0;
bool closed_ = false;
// [/solution-members]
