// The interface to hardware that has its own queues (CUDA).
//
// A host device has no driver: its stream's worker runs each task to completion. With a
// driver, the worker only *hands the task over* to the stream's hardware queue and
// continues; waits between streams become waits between queues, and the host blocks
// only where it reads a result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/tensor/types.h"

namespace lockstep::runtime {

/// A position in a queue, reached when all work before it has completed (cudaEvent_t).
/// Thread-safe.
class Mark {
 public:
  virtual ~Mark() = default;
  /// Blocks until the mark is reached. Throws std::runtime_error if work has failed.
  virtual void wait() const = 0;
  /// Returns the time at which the mark was reached (ns, on the clock of
  /// tracer::now_ns). REQUIRES: the mark is `timed` and has been reached.
  virtual int64_t time() const = 0;
};
using MarkPtr = std::shared_ptr<const Mark>;

/// Work that was captured instead of being run and that can be launched repeatedly
/// (cudaGraphExec_t). Must outlive its launches.
class Graph {
 public:
  virtual ~Graph() = default;
};
using GraphPtr = std::shared_ptr<const Graph>;

/// The hardware queue of one stream (cudaStream_t). Only the stream's worker may use
/// it. All calls throw std::runtime_error naming the driver call that failed.
class Queue {
 public:
  virtual ~Queue() = default;
  /// Makes this the queue for everything that the calling thread launches.
  virtual void bind() = 0;
  /// Makes later work in this queue wait for `mark`, which belongs to another queue.
  virtual void wait(const Mark& mark) = 0;
  /// Returns a mark at the end of the queue. Mark::time may be called only if `timed`.
  virtual MarkPtr mark(bool timed) = 0;
  /// Between these two calls, launches are captured instead of being run, also those of
  /// other queues from when they wait for a mark in the capture. This queue must wait
  /// for the ends of the other ones before the capture ends. No queue may wait for a
  /// mark from outside of the capture. Calls must not be concurrent.
  virtual void begin_capture() = 0;
  virtual GraphPtr end_capture() = 0;
  virtual void launch(const Graph& graph) = 0;
  /// Called around each task, with its name, for profilers that show ranges (NVTX).
  virtual void begin_range(const char* name) = 0;
  virtual void end_range() = 0;
};

class PinnedMemory;

/// One kind of hardware. Thread-safe. Calls throw std::runtime_error naming the driver
/// call that failed.
class Driver {
 public:
  virtual ~Driver() = default;
  /// Returns `bytes` bytes of the device's memory, or null if not enough is available.
  virtual void* allocate(Device device, size_t bytes) = 0;
  virtual void free(Device device, void* data) noexcept = 0;
  virtual std::unique_ptr<Queue> make_queue(Device device) = 0;
  /// Returns the calling worker's queue.
  virtual Queue& current_queue() = 0;
  /// Copies `bytes` bytes on the calling worker's queue, between two devices or between
  /// a device and the host. On return, host memory has been read or written.
  virtual void copy(void* to, Device to_device, const void* from, Device from_device,
                    size_t bytes) = 0;
  /// On the calling worker's queue, sets into[i] = op(into[i], from[i]) for all
  /// i < numel. `into` must be on the worker's device.
  virtual void reduce(void* into, Device into_device, const void* from,
                      Device from_device, int64_t numel, DType dtype, ReduceOp op) = 0;
  /// Returns memory that the hardware reads by itself; null if there is none.
  virtual PinnedMemory* pinned_memory() { return nullptr; }
  /// Like copy() to a device from pinned memory, which may be read after the return:
  /// the caller must declare the copy with PinnedMemory::read_by.
  virtual void copy_pinned(void* to, Device to_device, const void* from, size_t bytes) {
    copy(to, to_device, from, Device{}, bytes);
  }
};

}  // namespace lockstep::runtime
