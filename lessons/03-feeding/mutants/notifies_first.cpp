// rejected by: locked
// because: a thread that is woken before the change looks
//
// The misconception: notifies before it stores: the loop wakes, sees nothing, and
// sleeps on.

// [solution-put]
    ready_.notify_one();
    std::lock_guard lock(mutex_);
    places_[number % depth_] = std::move(made);
// [/solution-put]
