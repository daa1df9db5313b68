// Broadcast and reduce for DataParallel, using NCCL: one process with one communicator
// per GPU.
#pragma once

#include <nccl.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/parallel/device_group.h"

namespace lockstep::parallel {

/// The calls for each GPU come from the worker of its own stream, so ncclGroupStart is
/// not needed: while one thread blocks in a call, the peers call from other threads. A
/// call that fails aborts the group so that the peers do not wait for it. Never
/// destroyed (device_group.h). Source: NCCL user guide, "Creating a communicator";
/// torch/csrc/cuda/nccl.cpp.
class NcclDeviceGroup : public DeviceGroup {
 public:
  /// REQUIRES: no two devices on one GPU.
  explicit NcclDeviceGroup(const Devices& devices);
  NcclDeviceGroup(const NcclDeviceGroup&) = delete;

  void broadcast(size_t i, void* data, int64_t numel, DType dtype) override;
  void reduce(size_t i, void* data, int64_t numel, DType dtype) override;

 private:
  template <class Call>
  void run(const char* name, size_t i, Call call);
  void abort(const std::string& why);

  const Devices devices_;
  std::mutex mutex_;
  bool aborted_ = false;
  std::vector<ncclComm_t> comms_;
};

/// Returns null if two devices share a GPU.
std::unique_ptr<DeviceGroup> make_nccl_group(const Devices& devices);

}  // namespace lockstep::parallel
