// The seam to hardware that works on its own: what CUDA does that a host's threads
// do not need.
//
// Host devices have none of this: their stream's worker runs a task, and then it is
// over. With a driver, the worker only *hands the task over* to the stream's queue in
// hardware and goes on; waits between streams become waits between queues, and only who
// reads a result waits for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/tensor/device.h"
#include "engine/tensor/dtype.h"

namespace lockstep::runtime {

/// A place in a queue, reached when all work before it is over (cudaEvent_t).
/// Thread-safe.
class Mark {
 public:
  virtual ~Mark() = default;
  /// Blocks until the queue has come here. Throws std::runtime_error if work failed.
  virtual void wait() const = 0;
  /// When it came here: ns on the clock of tracer::now_ns. REQUIRES: reached, `timed`.
  virtual int64_t time() const = 0;
};
using MarkPtr = std::shared_ptr<const Mark>;

/// Work that was recorded instead of done, and can be done again and again
/// (cudaGraphExec_t). May end when no queue does it any more.
class Graph {
 public:
  virtual ~Graph() = default;
};
using GraphPtr = std::shared_ptr<const Graph>;

/// What one stream gives its hardware to do, in order (cudaStream_t). Used by the
/// stream's worker only. All throw std::runtime_error naming the call that failed.
class Queue {
 public:
  virtual ~Queue() = default;
  /// From now on what the calling thread launches goes to this queue.
  virtual void bind() = 0;
  /// What comes next starts after that place of another queue.
  virtual void wait(const Mark& mark) = 0;
  /// This place. `timed`: its `time` will be asked for.
  virtual MarkPtr mark(bool timed) = 0;
  /// What is launched from here on is recorded, not done, until `end_capture`. It must
  /// not wait for other queues' work.
  virtual void begin_capture() = 0;
  virtual GraphPtr end_capture() = 0;
  virtual void launch(const Graph& graph) = 0;
  /// Around each task: its name, for profilers that show ranges.
  virtual void begin_range(const char* name) = 0;
  virtual void end_range() = 0;
};

/// One kind of hardware. Thread-safe.
class Driver {
 public:
  virtual ~Driver() = default;
  /// Memory of a device, or null if there is not as much.
  virtual void* allocate(Device device, size_t bytes) = 0;
  virtual void free(Device device, void* data) noexcept = 0;
  virtual std::unique_ptr<Queue> make_queue(Device device) = 0;
  /// The calling worker's.
  virtual Queue& current_queue() = 0;
  /// Called by a worker: copies on its queue between two devices or with the host's
  /// memory. The host's side is free again, or there, when this returns.
  virtual void copy(void* to, Device to_device, const void* from, Device from_device,
                    size_t bytes) = 0;
  /// Called by a worker: on its queue, into[i] becomes op(into[i], from[i]) for every
  /// i < numel. `into` lies on the worker's device.
  virtual void reduce(void* into, Device into_device, const void* from,
                      Device from_device, int64_t numel, DType dtype, ReduceOp op) = 0;
};

}  // namespace lockstep::runtime
