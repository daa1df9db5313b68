// rejected by: take_waits
// because: the only one that may be handed out
//
// The misconception: the smallest number that is there is the next one.

// [solution-put]
{
  std::lock_guard lock(mutex_);
  made_.emplace_back(number, std::move(made));
}
ready_.notify_one();
return;
// [/solution-put]

// [solution-take]
std::unique_lock lock(mutex_);
ready_.wait(lock, [&] { return !made_.empty(); });
size_t oldest = 0;
for (size_t i = 1; i < made_.size(); ++i) {
  if (made_[i].first < made_[oldest].first) oldest = i;
}
Made made = std::move(made_[oldest].second);
made_.erase(made_.begin() + oldest);
++taken_;
lock.unlock();
room_.notify_all();
return made;
// [/solution-take]

// [solution-members]
std::mutex mutex_;
std::condition_variable room_, ready_;
std::vector<std::pair<int64_t, Made>> made_;
int64_t taken_ = 0;
bool closed_ = false;
// [/solution-members]
