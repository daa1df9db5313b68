// The lock on a model that workers share.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

#include "tracer/record/recorder.h"

namespace lockstep::sharing {

/// A lock that its waiters get in the order in which they asked. Waiting for it is a
/// `sync` event that names the last event of the previous holder.
class ModelLock {
 public:
  /// Blocks until the lock is free. Throws std::runtime_error if it is abandoned.
  void acquire();
  /// `event`: the holder's last event, or tracer::kNone if nothing is recorded.
  void release(int64_t event);
  /// Makes pending and later calls of `acquire` throw with the message `why`.
  void abandon(const std::string& why);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t next_ticket_ = 0, serving_ = 0;
  int64_t last_event_ = tracer::kNone;
  std::string abandoned_;
};

}  // namespace lockstep::sharing
