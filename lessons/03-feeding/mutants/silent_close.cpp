// rejected by: close_wakes_all
// because: close must wake all of them
//
// The misconception: a waiting thread checks `closed` now and then.

// [solution-close]
std::lock_guard lock(mutex_);
closed_ = true;
return;
// [/solution-close]
