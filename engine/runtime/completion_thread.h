// Reports the completion of tasks that run in a hardware queue (CUDA; see driver.h).
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "engine/runtime/stream.h"

namespace lockstep::runtime {

/// A thread, in addition to a stream's worker, that waits for the marks in the stream's
/// queue in order. When a task has completed, it records the task's event with hardware
/// timestamps and signals `task.done`, so that an `Event` has the same meaning on all
/// kinds of devices. `add` may be called from any thread.
class CompletionThread {
 public:
  explicit CompletionThread(Stream& stream)
      : stream_(stream), thread_([this] { work(); }) {}
  ~CompletionThread();  ///< waits for all added tasks

  /// Adds a task that has completed when `ended` is reached. Tasks that are not
  /// recorded may share a mark with later ones.
  void add(LaunchedTask launched, MarkPtr ended);

 private:
  struct Running {
    LaunchedTask launched;
    MarkPtr ended;
  };
  void work();
  void complete(Running& running);

  Stream& stream_;
  std::mutex mutex_;  ///< guards running_ and closing_
  std::condition_variable changed_;
  std::deque<Running> running_;  ///< in queue order
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace lockstep::runtime
