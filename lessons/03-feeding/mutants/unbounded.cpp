// rejected by: bounded
// because: fill the memory
//
// The misconception: the queue grows as it must; only its order matters.

// [solution-reserve]
std::lock_guard lock(mutex_);
return !closed_;
// [/solution-reserve]

// [solution-put]
{
  std::lock_guard lock(mutex_);
  if (std::ssize(places_) <= number) places_.resize(number + 1);
  places_[number] = std::move(made);
}
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
