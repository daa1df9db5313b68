// Collectives between the GPUs of one process, where a library has them.
#pragma once

#include "engine/parallel/primitives.h"

namespace lockstep::parallel {

/// A library's communicators, one for each device (ncclCommInitAll). Every device
/// enqueues its part of a call on its own queue. The calls must come in the same order
/// on all devices.
class DeviceGroup {
 public:
  virtual ~DeviceGroup() = default;
  /// Enqueues device i's part of a broadcast of device 0's `data` into `data`, `numel`
  /// elements of its own memory. Must be called by the worker of a stream of device
  /// `i`.
  virtual void broadcast(size_t i, void* data, int64_t numel, DType dtype) = 0;
  /// As broadcast, for a sum into device 0's memory; the others' stay as they are.
  virtual void reduce(size_t i, void* data, int64_t numel, DType dtype) = 0;
};

/// Returns the library's group of these devices, made on first use and kept; null if
/// there is no such library or two of the devices share hardware. Thread-safe. Throws
/// std::runtime_error if the library fails.
DeviceGroup* device_group(const Devices& devices);

/// Returns `flat` of devices[0] on every device; entry 0 is `flat` itself. Returns at
/// once.
///
/// Neither library nor hardware shows the messages. The trace has those that follow
/// from the algorithm, marked `modelled`: the bytes go from each device to the next
/// one.
Tensors broadcast(DeviceGroup& group, const Tensor& flat, const Devices& devices);

/// Sums flats[i], which lie on the group's devices, into flats[0]. Begins when all of
/// them are ready; the bytes go from each device to the previous one.
void reduce(DeviceGroup& group, const Tensors& flats);

}  // namespace lockstep::parallel
