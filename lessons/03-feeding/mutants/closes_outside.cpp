// rejected by: locked
// because: what several threads access is read and written under
//
// The misconception: closed_ is atomic and needs no lock, it seems: a worker about to
// sleep misses the notification.

// [top]
#include <atomic>

// [/top]

// [solution-close]
closed_ = true;
room_.notify_all();
return;
// [/solution-close]

// [solution-members]
std::mutex mutex_;               // guards the rest
std::condition_variable room_;   // workers wait for it
std::condition_variable ready_;  // the training loop waits for it
std::vector<std::optional<Made>> places_{static_cast<size_t>(depth_)};
int64_t taken_ = 0;
std::atomic<bool> closed_ = false;
// [/solution-members]
