// Collectives between the GPUs of one process, where a library has them.
#pragma once

#include "engine/parallel/primitives.h"

namespace lockstep::parallel {

/// A library's communicators, one for each device (ncclCommInitAll). Every device makes
/// its part of a call on its own queue, at its own time; the calls must come in the
/// same order on all of them.
class DeviceGroup {
 public:
  virtual ~DeviceGroup() = default;
  /// Called by the worker of a stream of device `i`: enqueues its part. `data`, `numel`
  /// elements in its own memory, becomes what device 0 has there.
  virtual void broadcast(size_t i, void* data, int64_t numel, DType dtype) = 0;
  /// The same towards device 0, whose elements become the sum; the others' stay.
  virtual void reduce(size_t i, void* data, int64_t numel, DType dtype) = 0;
};

/// The library's group of these devices, made on first use and kept; null where there
/// is no such library, and where two of them share hardware. Thread-safe. Throws
/// std::runtime_error if the library fails.
DeviceGroup* device_group(const Devices& devices);

/// `flat` of devices[0] on every device, entry 0 itself. Returns at once.
///
/// Neither library nor hardware shows what moves. The trace has what the algorithm
/// prescribes, marked `modelled`: the bytes go from each device to the one after it.
Tensors broadcast(DeviceGroup& group, const Tensor& flat, const Devices& devices);

/// Sums flats[i], which lie on the group's devices, into flats[0]. It begins when all
/// of them are there; the bytes go from each device to the one before it.
void reduce(DeviceGroup& group, const Tensors& flats);

}  // namespace lockstep::parallel
