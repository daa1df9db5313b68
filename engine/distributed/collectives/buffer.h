// The memory that collectives operate on. Copies and reductions are performed by host
// threads or by hardware.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/runtime/driver.h"
#include "engine/tensor/types.h"

namespace lockstep::distributed {

using lockstep::ReduceOp;  // torch.distributed has this name, too

/// A contiguous piece of device memory; `data` is null on devices that compute nothing.
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

// Must be called from a worker of the device of `to` or `into`. If hardware does the
// work, it is enqueued after all earlier work in that worker's queue.

/// Sizes must match; `from` may be on another device of the same type.
void copy_into(Buffer to, Buffer from);
/// Replaces into[i] with op(into[i], from[i]).
void reduce_into(Buffer into, Buffer from, ReduceOp op);

/// Returns a mark at the current position in the worker's queue; null if host threads
/// do the work, in which case it is already done.
runtime::MarkPtr mark_queue(Device device, bool timed = false);
/// Makes later work in the worker's queue wait for `mark`, which may be null.
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
