// rejected by: bounded
// because: off by one
//
// The misconception: one batch more than `depth` may wait.

// [solution-reserve]
std::unique_lock lock(mutex_);
room_.wait(lock, [&] { return closed_ || number <= taken_ + depth_; });
return !closed_;
// [/solution-reserve]
