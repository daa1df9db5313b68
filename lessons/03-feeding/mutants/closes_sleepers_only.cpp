// rejected by: close_wakes_all
// because: calls reserve after close
//
// The misconception: only those who wait must be told that the queue was closed.

// [solution-reserve]
std::unique_lock lock(mutex_);
while (number >= taken_ + depth_) {
  if (closed_) return false;
  room_.wait(lock);
}
return true;
// [/solution-reserve]
