// rejected by: in_order
// because: not what came first
//
// The misconception: a queue is a queue: first in, first out.

// [solution-put]
{
  std::lock_guard lock(mutex_);
  made_.push_back(std::move(made));
}
ready_.notify_one();
return;
// [/solution-put]

// [solution-take]
std::unique_lock lock(mutex_);
ready_.wait(lock, [&] { return !made_.empty(); });
Made made = std::move(made_.front());
made_.erase(made_.begin());
++taken_;
lock.unlock();
room_.notify_all();
return made;
// [/solution-take]

// [solution-members]
std::mutex mutex_;
std::condition_variable room_, ready_;
std::vector<Made> made_;
int64_t taken_ = 0;
bool closed_ = false;
// [/solution-members]
