// rejected by: room_by_number
// because: a worker must not wait for another's reservation
//
// The misconception: the workers line up to reserve: batch b gets room only after b - 1
// has been reserved.

// [solution-reserve]
std::unique_lock lock(mutex_);
room_.wait(lock,
           [&] { return closed_ || (number == next_ && number < taken_ + depth_); });
if (closed_) return false;
++next_;
lock.unlock();
room_.notify_all();
return true;
// [/solution-reserve]

// [solution-members]
std::mutex mutex_;               // guards the rest
std::condition_variable room_;   // workers wait for it
std::condition_variable ready_;  // the training loop waits for it
std::vector<std::optional<Made>> places_{static_cast<size_t>(depth_)};
int64_t taken_ = 0;
bool closed_ = false;
int64_t next_ = 0;  // to be reserved
// [/solution-members]
