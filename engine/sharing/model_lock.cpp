#include "engine/sharing/model_lock.h"

#include <stdexcept>

namespace lockstep::sharing {

void ModelLock::acquire() {
  std::unique_lock lock(mutex_);
  const int64_t ticket = next_ticket_++;
  const auto comes = [&] { return serving_ == ticket || !abandoned_.empty(); };
  if (!comes()) {
    tracer::HostEvent sync("sync", "wait for lock");
    sync.arg({tracer::keys::why, tracer::reasons::lock});
    changed_.wait(lock, comes);
    if (last_event_ != tracer::kNone) sync.waits_for({&last_event_, 1});
  }
  if (!abandoned_.empty()) throw std::runtime_error(abandoned_);
}

void ModelLock::release(int64_t event) {
  std::lock_guard lock(mutex_);
  last_event_ = event;
  ++serving_;
  changed_.notify_all();
}

void ModelLock::abandon(const std::string& why) {
  std::lock_guard lock(mutex_);
  if (abandoned_.empty()) abandoned_ = why;
  changed_.notify_all();
}

}  // namespace lockstep::sharing
