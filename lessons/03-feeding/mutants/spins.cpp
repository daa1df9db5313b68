// rejected by: bounded
// because: sleeps until it is woken
//
// The misconception: waiting means looking again.

// [solution-reserve]
for (;;) {
  std::lock_guard lock(mutex_);
  if (closed_) return false;
  if (number < taken_ + depth_) return true;
}
// [/solution-reserve]
