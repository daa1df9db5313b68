// rejected by: lets_go
// because: must release taken ones
//
// The misconception: a map by number is enough, and nothing need be removed from it.

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
for (;;) {
  for (const auto& [number, made] : made_) {
    if (number != taken_) continue;
    ++taken_;
    room_.notify_all();
    return made;
  }
  ready_.wait(lock);
}
// [/solution-take]

// [solution-members]
std::mutex mutex_;
std::condition_variable room_, ready_;
std::vector<std::pair<int64_t, Made>> made_;
int64_t taken_ = 0;
bool closed_ = false;
// [/solution-members]
