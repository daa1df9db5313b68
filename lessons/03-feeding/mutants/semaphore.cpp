// rejected by: room_by_number
// because: a deadlock
//
// The misconception: room is a number of permits; first come, first served.

// [solution-reserve]
std::unique_lock lock(mutex_);
room_.wait(lock, [&] { return closed_ || reserved_ < depth_; });
++reserved_;
return !closed_;
// [/solution-reserve]

// [solution-take]
std::unique_lock lock(mutex_);
std::optional<Made>& oldest = places_[taken_ % depth_];
ready_.wait(lock, [&] { return oldest.has_value(); });
Made made = std::move(*std::exchange(oldest, std::nullopt));
++taken_;
--reserved_;
lock.unlock();
room_.notify_all();
return made;
// [/solution-take]

// [solution-members]
std::mutex mutex_;
std::condition_variable room_, ready_;
std::vector<std::optional<Made>> places_{static_cast<size_t>(depth_)};
int64_t taken_ = 0;
bool closed_ = false;
int64_t reserved_ = 0;
// [/solution-members]
