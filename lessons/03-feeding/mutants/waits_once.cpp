// rejected by: take_wakes_all
// because: a notification only says “look again”
//
// The misconception: waits once without looking again: a notification is taken for the
// condition.

// [solution-reserve]
std::unique_lock lock(mutex_);
if (!closed_ && number >= taken_ + depth_) room_.wait(lock);
return !closed_;
// [/solution-reserve]
