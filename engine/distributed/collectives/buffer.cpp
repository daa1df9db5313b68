#include "engine/distributed/collectives/buffer.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>

#include "engine/backends/backend.h"

namespace lockstep::distributed {
namespace {

/// Returns null if host threads do the work.
runtime::Driver* driver_of(Device device) {
  return device.is_host() ? nullptr : backend_of(device.type).driver();
}

bool nothing(const Buffer& a, const Buffer& b) {
  return a.data == nullptr || b.data == nullptr || a.numel == 0;
}

template <typename T>
void reduce_here(T* into, const T* from, int64_t numel, ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      for (int64_t i = 0; i < numel; ++i) into[i] += from[i];
      break;
    case ReduceOp::min:
      for (int64_t i = 0; i < numel; ++i) into[i] = std::min(into[i], from[i]);
      break;
    case ReduceOp::max:
      for (int64_t i = 0; i < numel; ++i) into[i] = std::max(into[i], from[i]);
      break;
  }
}

template <typename T>
void reduce_as(const Buffer& into, const Buffer& from, ReduceOp op) {
  reduce_here(static_cast<T*>(into.data), static_cast<const T*>(from.data), into.numel,
              op);
}

/// Waits for all work in the worker's queue. A failed device counts as idle; the next
/// wait for the device reports the failure.
void wait_until_idle(Device device) {
  try {
    mark_queue(device)->wait();
  } catch (const std::exception&) {
  }
}

}  // namespace

void copy_into(Buffer to, Buffer from) {
  if (nothing(to, from)) return;
  if (runtime::Driver* driver = driver_of(to.device)) {
    driver->copy(to.data, to.device, from.data, from.device, to.bytes());
  } else {
    std::memcpy(to.data, from.data, to.bytes());
  }
}

void reduce_into(Buffer into, Buffer from, ReduceOp op) {
  if (nothing(into, from)) return;
  if (runtime::Driver* driver = driver_of(into.device)) {
    return driver->reduce(into.data, into.device, from.data, from.device, into.numel,
                          into.dtype, op);
  }
  switch (into.dtype) {
    case DType::f32:
      return reduce_as<float>(into, from, op);
    case DType::f64:
      return reduce_as<double>(into, from, op);
    case DType::i64:
      return reduce_as<int64_t>(into, from, op);
    case DType::u8:
      return reduce_as<uint8_t>(into, from, op);
  }
}

runtime::MarkPtr mark_queue(Device device, bool timed) {
  runtime::Driver* driver = driver_of(device);
  return driver ? driver->current_queue().mark(timed) : nullptr;
}

void queue_waits(Device device, const runtime::MarkPtr& mark) {
  if (mark) driver_of(device)->current_queue().wait(*mark);
}

Scratch::Scratch(Buffer original) : copy_(original) {
  if (original.data == nullptr || original.numel == 0) return;
  const Device device = original.device;
  if (runtime::Driver* driver = driver_of(device)) {
    memory_ = {driver->allocate(device, original.bytes()), [=](void* data) {
                 wait_until_idle(device);
                 driver->free(device, data);
               }};
  } else {
    memory_ = {::operator new(original.bytes()),
               [](void* data) { ::operator delete(data); }};
  }
  if (!memory_) {
    throw std::runtime_error(device.str() + " has no memory left for a copy");
  }
  copy_.data = memory_.get();
  copy_into(copy_, original);
}

}  // namespace lockstep::distributed
