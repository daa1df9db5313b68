#include "lessons/machine/meeting.h"

#include <chrono>

namespace lockstep::lessons {

void Meeting::arrive() {
  std::unique_lock lock(mutex_);
  threads_.insert(std::this_thread::get_id());
  ++arrived_;
  changed_.notify_all();
  const auto over = [this] { return arrived_ == expected_ || missed_ > 0; };
  if (!changed_.wait_for(lock, std::chrono::seconds(4), over)) {
    missed_ = expected_ - arrived_;
  }
}

}  // namespace lockstep::lessons
