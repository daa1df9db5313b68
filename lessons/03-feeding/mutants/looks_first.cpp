// rejected by: locked
// because: what several threads access is read and written under
//
// The misconception: looks without the mutex first ('double-checked'), which is a data
// race.

// [solution-reserve]
if (!closed_ && number < taken_ + depth_) return true;  // most often there is room
std::unique_lock lock(mutex_);
room_.wait(lock, [&] { return closed_ || number < taken_ + depth_; });
return !closed_;
// [/solution-reserve]
