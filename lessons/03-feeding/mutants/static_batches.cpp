// rejected by: take_waits
// because: every epoch has a queue of its own
//
// The misconception: the finished batches are in a static map: what an abandoned epoch
// left is delivered in the next one.

// [top]
#include <map>

// [/top]

// [solution-put]
{
  std::lock_guard lock(mutex_);
  made_[number] = std::move(made);
}
ready_.notify_one();
return;
// [/solution-put]

// [solution-take]
std::unique_lock lock(mutex_);
ready_.wait(lock, [&] { return made_.count(taken_) > 0; });
Made made = std::move(made_.extract(taken_).mapped());
++taken_;
lock.unlock();
room_.notify_all();
return made;
// [/solution-take]

// [solution-members]
inline static std::mutex mutex_;  // guards the rest
std::condition_variable room_;    // workers wait for it
std::condition_variable ready_;   // the training loop waits for it
inline static std::map<int64_t, Made> made_;
int64_t taken_ = 0;
bool closed_ = false;
// [/solution-members]
