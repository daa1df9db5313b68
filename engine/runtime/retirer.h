// Tells what hardware has finished (CUDA only; see driver.h).
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "engine/runtime/stream.h"

namespace lockstep::runtime {

/// A thread beside a stream's worker. It follows the stream's queue from mark to mark:
/// when a task is over it records the task's event, at the times that the hardware
/// tells, and signals. So `Event` means the same for all kinds of devices.
class Retirer {
 public:
  explicit Retirer(Stream& stream) : stream_(stream), thread_([this] { work(); }) {}
  ~Retirer();  ///< waits for what was added

  /// `task` lies in the queue between two marks; `began` is null if it leaves no event.
  void add(Task task, MarkPtr began, MarkPtr ended);

 private:
  struct Running {
    Task task;
    MarkPtr began, ended;
  };
  void work();
  void retire(Running& running);

  Stream& stream_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Running> running_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace lockstep::runtime
