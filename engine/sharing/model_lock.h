// The lock on a model that workers share.
#pragma once

#include <thread>

#include "engine/sharing/shared_state.h"
#include "tracer/record/recorder.h"

namespace lockstep::sharing {

/// A lock that its waiters get in the order in which they asked. Waiting for it is a
/// `sync` event that names the last event of the previous holder. One object per
/// process; the state is that of all workers.
class ModelLock {
 public:
  ModelLock(LockState& state, const Patience& patience)
      : state_(state), patience_(patience) {}
  /// A thread that fails with the lock frees it with its model: a robust mutex is in a
  /// list of its holder's thread, which must not point to memory that is gone. Another
  /// thread may destroy the model only after the holder has ended.
  ~ModelLock();
  ModelLock(const ModelLock&) = delete;
  ModelLock& operator=(const ModelLock&) = delete;

  /// Blocks until the lock is free. Throws std::runtime_error if it is abandoned, and,
  /// if workers are processes, naming the worker that died while it held the lock, or
  /// that has held it for longer than the timeout.
  void acquire();
  /// `event`: the holder's last event, or tracer::kNone if nothing is recorded. Must be
  /// called by the thread that called acquire().
  void release(int64_t event);

 private:
  void wait_for_turn(uint32_t ticket);
  void require_live_holder();

  LockState& state_;
  const Patience& patience_;
  std::thread::id held_by_;  ///< a thread of this process, or none; under the lock
};

}  // namespace lockstep::sharing
