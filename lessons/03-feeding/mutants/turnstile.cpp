// rejected by: in_order
// because: put never waits
//
// The misconception: order is made by letting the workers hand in one after the other.

// [solution-put]
{
  std::unique_lock lock(mutex_);
  room_.wait(lock, [&] { return closed_ || number == put_; });
  places_[number % depth_] = std::move(made);
  ++put_;
}
room_.notify_all();
ready_.notify_one();
return;
// [/solution-put]

// [solution-members]
std::mutex mutex_;
std::condition_variable room_, ready_;
std::vector<std::optional<Made>> places_{static_cast<size_t>(depth_)};
int64_t taken_ = 0;
bool closed_ = false;
int64_t put_ = 0;
// [/solution-members]
