// The times of `emulated` devices, which compute nothing: a kernel takes as long as
// another device would, and a copy as long as that device's links.
//
// Such a device has a time of its own, on the clock of tracer::now_ns(). A task begins
// at the latest of: when it was enqueued, when its stream's previous task ended, and
// when the tasks that it waits for ended. No worker sleeps for a kernel, so a device's
// time may be ahead of the clock; the host sleeps where it waits for the device. A copy
// begins no sooner than its time has come, so that links serve copies in order.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/tensor/types.h"

namespace lockstep::runtime {

/// What is known of a kernel when it is launched.
struct KernelWork {
  Device device;
  const char* phase = nullptr;  ///< of the launching thread; may be null
  int64_t flops = 0, bytes = 0;
  int64_t samples = 0;  ///< in its input, if that is a batch; 0: unknown
};

/// A span of time (ns).
struct Span {
  int64_t begin = 0, end = 0;
};

/// How fast the emulated devices are. Thread-safe.
class Pace {
 public:
  virtual ~Pace() = default;
  /// Returns the time (ns) that a kernel takes. Called in program order of each device.
  /// Throws std::runtime_error if it is unknown.
  virtual int64_t kernel(const KernelWork& work) = 0;
  /// Returns when a copy of `bytes` bytes that could begin at `ready` begins and ends.
  virtual Span copy(Device from, Device to, int64_t bytes, int64_t ready) = 0;
  /// Blocks until tracer::now_ns() has reached `time`.
  virtual void sleep_until(int64_t time) = 0;
};

/// Sets how fast the emulated devices of this process are. Must be called while none of
/// them works.
void set_pace(std::shared_ptr<Pace> pace);
/// Throws std::runtime_error if no pace has been set.
Pace& pace();
bool has_pace();

/// Returns the span of the task that the calling worker of an emulated device runs: at
/// first, both ends are when the task could begin. The task advances them.
Span& task_span();

/// Runs a copy on an emulated device: waits until it could begin, then sets the span of
/// the calling worker's task.
void emulate_copy(Device from, Device to, int64_t bytes);

}  // namespace lockstep::runtime
