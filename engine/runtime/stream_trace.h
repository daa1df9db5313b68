// What a stream records of its tasks; private to the stream.
#pragma once

#include "engine/runtime/stream.h"

namespace lockstep::runtime {

/// Reads the clocks around a task that is recorded; reads none if it is not.
class TaskTimer {
 public:
  explicit TaskTimer(const Task& task);
  /// Must be called on the constructing thread, when the task has run.
  void stop();

  int64_t start = 0, end = 0, cpu = 0;  ///< ns

 private:
  const bool on_;
  int64_t cpu_start_ = 0;
};

}  // namespace lockstep::runtime
