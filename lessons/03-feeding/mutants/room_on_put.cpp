// rejected by: bounded
// because: take makes room, not put
//
// The misconception: a batch that is made is done, so its worker may begin another.

// [solution-reserve]
std::unique_lock lock(mutex_);
room_.wait(lock, [&] { return closed_ || number < put_ + depth_; });
return !closed_;
// [/solution-reserve]

// [solution-put]
{
  std::lock_guard lock(mutex_);
  if (std::ssize(places_) <= number) places_.resize(number + 1);
  places_[number] = std::move(made);
  ++put_;
}
room_.notify_all();
ready_.notify_one();
return;
// [/solution-put]

// [solution-take]
std::unique_lock lock(mutex_);
ready_.wait(lock, [&] {
  return std::ssize(places_) > taken_ && places_[taken_].has_value();
});
Made made = std::move(*std::exchange(places_[taken_], std::nullopt));
++taken_;
return made;
// [/solution-take]

// [solution-members]
std::mutex mutex_;
std::condition_variable room_, ready_;
std::vector<std::optional<Made>> places_{static_cast<size_t>(depth_)};
int64_t taken_ = 0;
bool closed_ = false;
int64_t put_ = 0;
// [/solution-members]
