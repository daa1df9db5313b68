// Finds out at once that a worker's process has died.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "engine/sharing/shared_state.h"

namespace lockstep::sharing {

/// A thread of a worker's process. It holds the worker's own robust mutex in the shared
/// memory, which the kernel marks when the process dies, however it dies, and looks at
/// those of the others every 50 ms. Workers that share memory exchange no messages in
/// an epoch, so no connection would break that one of them waits for.
class DeathWatch {
 public:
  /// Calls `on_death` once, on the thread, with the number of a worker that died. The
  /// worker's own exit is no death once leave() was called or this object is destroyed.
  DeathWatch(SharedState& state, int worker, int workers,
             std::function<void(int worker)> on_death);
  ~DeathWatch();

  /// The process is about to end, for a reason that the others learn in another way.
  void leave();

 private:
  void work();
  int find_dead();

  SharedState& state_;
  const int worker_, workers_;
  const std::function<void(int)> on_death_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace lockstep::sharing
