#include "engine/runtime/core_tokens.h"

#include <algorithm>

namespace lockstep::runtime {

int CoreTokens::acquire(int count) {
  count = std::min(count, cores_);
  std::unique_lock lock(mutex_);
  const uint64_t ticket = next_ticket_++;
  changed_.wait(lock, [&] { return serving_ == ticket && free_ >= count; });
  free_ -= count;
  ++serving_;
  changed_.notify_all();
  return count;
}

void CoreTokens::release(int count) {
  std::lock_guard lock(mutex_);
  free_ += count;
  changed_.notify_all();
}

}  // namespace lockstep::runtime
