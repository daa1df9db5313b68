// rejected by: locked
// because: to look again every millisecond is a busy loop
//
// The misconception: polls every millisecond instead of being notified.

// [top]
#include <chrono>

// [/top]

// [solution-put]
    {
      std::lock_guard lock(mutex_);
      places_[number % depth_] = std::move(made);
    }
    return;
// [/solution-put]

// [solution-take]
    std::unique_lock lock(mutex_);
    std::optional<Made>& oldest = places_[taken_ % depth_];
    while (!oldest.has_value()) ready_.wait_for(lock, std::chrono::milliseconds(1));
    Made made = std::move(*std::exchange(oldest, std::nullopt));
    ++taken_;
    lock.unlock();
    room_.notify_all();
    return made;
// [/solution-take]
