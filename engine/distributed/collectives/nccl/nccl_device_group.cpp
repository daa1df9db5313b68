#include "engine/distributed/collectives/nccl/nccl_device_group.h"

#include <set>
#include <stdexcept>
#include <thread>

#include "engine/backends/cuda/gpus.h"
#include "engine/backends/cuda/queue.h"
#include "engine/distributed/collectives/nccl/nccl_communicator.h"
#include "engine/runtime/device_context.h"

namespace lockstep::parallel {

using distributed::check_nccl;
using distributed::nccl_type;

namespace {

std::vector<int> gpus_of(const Devices& devices) {
  std::vector<int> gpus;
  for (const Device device : devices) gpus.push_back(cuda::gpu_of(device));
  return gpus;
}

}  // namespace

NcclDeviceGroup::NcclDeviceGroup(const Devices& devices)
    : devices_(devices), comms_(devices.size()) {
  const std::vector<int> gpus = gpus_of(devices);
  check_nccl(ncclCommInitAll(comms_.data(), static_cast<int>(gpus.size()), gpus.data()),
             "ncclCommInitAll");
}

/// ncclCommAbort waits until no graph refers to the communicators, so it must not
/// block the worker: the trainer, which destroys the graph, waits for that. Aborted
/// work looks finished to the GPUs, so all devices are poisoned.
void NcclDeviceGroup::abort(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (aborted_) return;
    aborted_ = true;
  }
  for (const Device device : devices_) runtime::context(device).poison("NCCL", why);
  std::thread([comms = comms_] {
    for (const ncclComm_t comm : comms) ncclCommAbort(comm);
  }).detach();
}

template <class Call>
void NcclDeviceGroup::run(const char* name, size_t i, Call call) {
  {
    const std::lock_guard lock(mutex_);
    if (aborted_)
      throw std::runtime_error(std::string(name) + ": NCCL failed in an earlier call");
  }
  try {
    check_nccl(call(comms_[i], cuda::CudaQueue::current().stream()), name, comms_[i]);
  } catch (const std::exception& error) {
    abort(error.what());
    throw;
  }
}

void NcclDeviceGroup::broadcast(size_t i, void* data, int64_t numel, DType dtype) {
  run("ncclBroadcast", i, [&](ncclComm_t comm, cudaStream_t stream) {
    return ncclBroadcast(data, data, numel, nccl_type(dtype), 0, comm, stream);
  });
}

void NcclDeviceGroup::reduce(size_t i, void* data, int64_t numel, DType dtype) {
  run("ncclReduce", i, [&](ncclComm_t comm, cudaStream_t stream) {
    return ncclReduce(data, data, numel, nccl_type(dtype), ncclSum, 0, comm, stream);
  });
}

std::unique_ptr<DeviceGroup> make_nccl_group(const Devices& devices) {
  const std::vector<int> gpus = gpus_of(devices);
  if (std::set<int>(gpus.begin(), gpus.end()).size() < gpus.size()) return nullptr;
  return std::make_unique<NcclDeviceGroup>(devices);
}

}  // namespace lockstep::parallel
