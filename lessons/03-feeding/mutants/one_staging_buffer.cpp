// rejected by: same_batches
// because: must come out as it was put
//
// The misconception: pinned memory is expensive, so all pictures go through one buffer.

// [solution-put]
{
  std::lock_guard lock(mutex_);
  if (made.batch) staging_ = made.batch->images;
  places_[number % depth_] = std::move(made);
}
ready_.notify_one();
return;
// [/solution-put]

// [solution-take]
std::unique_lock lock(mutex_);
std::optional<Made>& oldest = places_[taken_ % depth_];
ready_.wait(lock, [&] { return oldest.has_value(); });
Made made = std::move(*std::exchange(oldest, std::nullopt));
if (made.batch) made.batch->images = staging_;
++taken_;
lock.unlock();
room_.notify_all();
return made;
// [/solution-take]

// [solution-members]
std::mutex mutex_;
std::condition_variable room_, ready_;
std::vector<std::optional<Made>> places_{static_cast<size_t>(depth_)};
int64_t taken_ = 0;
bool closed_ = false;
data::Floats staging_;
// [/solution-members]
