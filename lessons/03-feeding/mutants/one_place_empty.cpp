// rejected by: in_order
// because: empty as a sentinel
//
// The misconception: a ring needs an empty place to tell full from empty.

// [solution-reserve]
std::unique_lock lock(mutex_);
room_.wait(lock, [&] { return closed_ || number < taken_ + depth_ - 1; });
return !closed_;
// [/solution-reserve]
