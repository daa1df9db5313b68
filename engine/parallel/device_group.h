// Collectives across the GPUs of one process, if a library provides them.
#pragma once

#include "engine/parallel/primitives.h"

namespace lockstep::parallel {

/// The communicators of a library, one per device (ncclCommInitAll). Each device
/// enqueues its part of a call on its own queue. The calls must be made in the same
/// order on all devices.
class DeviceGroup {
 public:
  virtual ~DeviceGroup() = default;
  /// Enqueues device i's part of a broadcast, which copies `numel` elements from device
  /// 0's `data` to `data` in device i's memory. Must be called by the worker of a
  /// stream of device i.
  virtual void broadcast(size_t i, void* data, int64_t numel, DType dtype) = 0;
  /// Like broadcast, but sums into device 0's memory; that of the others is unchanged.
  virtual void reduce(size_t i, void* data, int64_t numel, DType dtype) = 0;
};

/// Returns the library's group for these devices, created on first use and cached; null
/// if no library is available or two of the devices share hardware. Thread-safe. Throws
/// std::runtime_error if the library fails.
DeviceGroup* device_group(const Devices& devices);

/// Copies `flat` from devices[0] to every device; entry 0 of the result is `flat`
/// itself. Returns immediately.
///
/// Neither the library nor the hardware reports individual messages. The trace contains
/// those implied by the algorithm, marked `modelled`: each device sends the bytes to
/// the next one.
Tensors broadcast(DeviceGroup& group, const Tensor& flat, const Devices& devices);

/// Sums flats[i], which are on the group's devices, into flats[0]. Starts when all of
/// them are ready; each device sends its bytes to the previous one.
void reduce(DeviceGroup& group, const Tensors& flats);

}  // namespace lockstep::parallel
