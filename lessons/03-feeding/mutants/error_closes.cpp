// rejected by: errors_in_turn
// because: an error is taken like a batch
//
// The misconception: an error ends the epoch: put closes the queue.

// [solution-put]
{
  std::lock_guard lock(mutex_);
  if (made.error) closed_ = true;
  places_[number % depth_] = std::move(made);
}
ready_.notify_one();
room_.notify_all();
return;
// [/solution-put]
