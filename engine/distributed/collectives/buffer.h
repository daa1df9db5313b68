// The memory that collectives work on. Copies and sums are made by the host's threads,
// or by hardware.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/runtime/driver.h"
#include "engine/tensor/device.h"
#include "engine/tensor/dtype.h"

namespace lockstep::distributed {

using lockstep::ReduceOp;  // torch.distributed has it, too

/// A flat piece of a device's memory; `data` is null on devices that compute nothing.
struct Buffer {
  void* data = nullptr;
  int64_t numel = 0;
  DType dtype = DType::f32;
  Device device = kHost;

  int64_t bytes() const { return numel * static_cast<int64_t>(item_size(dtype)); }
  Buffer part(int64_t first, int64_t count) const {
    char* start = static_cast<char*>(data);
    return {start ? start + first * item_size(dtype) : nullptr, count, dtype, device};
  }
};

// Must be called by a worker of the device of `to` or `into`. With hardware the work is
// enqueued behind all earlier work of that worker's queue.

/// Sizes must be equal; `from` may lie on another device of the same type.
void copy_into(Buffer to, Buffer from);
/// Replaces into[i] by op(into[i], from[i]).
void reduce_into(Buffer into, Buffer from, ReduceOp op);

/// Returns a mark at this place of the worker's queue; null where the host's threads do
/// the work, which is then done.
runtime::MarkPtr mark_queue(Device device, bool timed = false);
/// Makes the rest of the worker's queue wait for `mark`, which may be null.
void queue_waits(Device device, const runtime::MarkPtr& mark);

/// A temporary copy of a buffer.
class Scratch {
 public:
  explicit Scratch(Buffer original);
  const Buffer& buffer() const { return copy_; }

 private:
  std::shared_ptr<void> memory_;
  Buffer copy_;
};

}  // namespace lockstep::distributed
