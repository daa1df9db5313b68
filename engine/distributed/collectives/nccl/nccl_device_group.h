// DataParallel's broadcast and reduce by NCCL: one process, one communicator for each
// of its GPUs.
#pragma once

#include <nccl.h>

#include <memory>
#include <mutex>
#include <vector>

#include "engine/parallel/device_group.h"

namespace lockstep::parallel {

/// Each GPU's calls come from its own stream's worker, so they need no ncclGroupStart:
/// a thread that waits in a call has its peers in other threads. A call that fails
/// aborts the group, so that the peers do not wait for it. Source: NCCL's user guide,
/// "Creating a communicator"; torch/csrc/cuda/nccl.cpp.
class NcclDeviceGroup : public DeviceGroup {
 public:
  /// REQUIRES: no two devices on one GPU.
  explicit NcclDeviceGroup(const Devices& devices);
  ~NcclDeviceGroup() override { abort(); }
  NcclDeviceGroup(const NcclDeviceGroup&) = delete;

  void broadcast(size_t i, void* data, int64_t numel, DType dtype) override;
  void reduce(size_t i, void* data, int64_t numel, DType dtype) override;

 private:
  template <class Call>
  void run(const char* name, size_t i, Call call);
  void abort();

  std::mutex mutex_;
  bool aborted_ = false;
  std::vector<ncclComm_t> comms_;
};

/// Returns null where two devices share a GPU.
std::unique_ptr<DeviceGroup> make_nccl_group(const Devices& devices);

}  // namespace lockstep::parallel
