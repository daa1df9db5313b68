// rejected by: moved
// because: a batch of 256 images takes 150 MB
//
// The misconception: the batch is copied into the queue, and by the way while the mutex
// is held.

// [solution-put]
{
  std::lock_guard lock(mutex_);
  places_[number % depth_] = made;
}
ready_.notify_one();
return;
// [/solution-put]
