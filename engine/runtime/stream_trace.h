// Records a stream's tasks in the trace; private to the stream.
#pragma once

#include "engine/runtime/stream.h"

namespace lockstep::runtime {

/// Reads the clocks before and after a recorded task; does nothing for other tasks.
class TaskTimer {
 public:
  explicit TaskTimer(const Task& task);
  /// Must be called on the constructing thread after the task has run.
  void stop();

  int64_t start = 0, end = 0, cpu = 0;  ///< ns

 private:
  const bool on_;
  int64_t cpu_start_ = 0;
};

}  // namespace lockstep::runtime
