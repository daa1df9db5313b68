#include "engine/distributed/collectives/nccl/nccl_communicator.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <future>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include "engine/backends/cuda/gpus.h"
#include "engine/backends/cuda/queue.h"
#include "engine/backends/cuda/status.h"
#include "engine/distributed/rendezvous/store.h"
#include "engine/runtime/device_context.h"
#include "tracer/record/recorder.h"

namespace lockstep::distributed {
namespace {

ncclRedOp_t op_of(ReduceOp op) {
  return op == ReduceOp::sum ? ncclSum : op == ReduceOp::min ? ncclMin : ncclMax;
}

/// Returns the host name and bus address of the GPU, which identify it across machines.
std::string gpu_name(Device device) {
  char host[256] = "", bus[32] = "";
  ::gethostname(host, sizeof host - 1);
  cuda::check(cudaDeviceGetPCIBusId(bus, sizeof bus, cuda::gpu_of(device)),
              "cudaDeviceGetPCIBusId");
  return std::string(host) + " " + bus;
}

/// Returns the id of the group, which rank 0 creates.
ncclUniqueId common_id(Store& store, const CommunicatorOptions& options) {
  ncclUniqueId id{};
  if (options.rank == 0) {
    check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
    store.set("id", std::string(id.internal, sizeof id.internal));
  }
  store.wait({"id"}, options.timeout);
  const std::string bytes = store.get("id");
  if (bytes.size() != sizeof id.internal) {
    throw std::runtime_error(
        "rank 0 uses a different version of NCCL; fix: use the same version on all "
        "ranks");
  }
  std::memcpy(id.internal, bytes.data(), bytes.size());
  return id;
}

void wait_for_all(Store& store, const CommunicatorOptions& options) {
  std::vector<std::string> keys;
  for (int r = 0; r < options.size; ++r) keys.push_back(fmt::format("ready/{}", r));
  store.set(keys[options.rank], "");
  store.wait(keys, options.timeout);
}

}  // namespace

NcclCommunicator::NcclCommunicator(const CommunicatorOptions& options)
    : rank_(options.rank), size_(options.size), device_(options.device) {
  PrefixStore store("nccl", options.store);
  const ncclUniqueId id = common_id(store, options);
  const cuda::GpuScope scope(cuda::gpu_of(device_));
  check_nccl(ncclCommInitRank(&comm_, size_, id, rank_), "ncclCommInitRank");
  // Initialization allocates memory, which may wait for running kernels. A collective
  // that started before all ranks are done would wait for them, and they for it.
  wait_for_all(store, options);
}

NcclCommunicator::~NcclCommunicator() {
  std::lock_guard lock(mutex_);
  if (comm_) ncclCommDestroy(comm_);
}

void NcclCommunicator::run(const Collective& call, DType dtype,
                           const ModelledMessages& messages, const Enqueue& enqueue) {
  cuda::CudaQueue& queue = cuda::CudaQueue::current();
  const bool recorded = call.recorded();
  const runtime::MarkPtr began = recorded ? queue.mark(true) : nullptr;
  ncclComm_t comm = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (aborted_) throw std::runtime_error(*aborted_);
    comm = comm_;
  }
  // As in PyTorch, the lock is not held here: the first call waits for all ranks, and
  // if one of them has died, only `abort` can end the wait.
  check_nccl(enqueue(comm, queue.stream()), "NCCL's " + str(call), comm);
  if (!recorded) return;
  const runtime::MarkPtr ended = queue.mark(true);
  ended->wait();
  record_modelled(messages, "default", rank_, dtype, call, began->time(),
                  ended->time());
}

void NcclCommunicator::all_reduce(Buffer data, ReduceOp op, const Collective& call) {
  run(call, data.dtype, modelled_all_reduce(rank_, size_, data.numel, RingWay::next),
      [&](ncclComm_t comm, cudaStream_t stream) {
        return ncclAllReduce(data.data, data.data, data.numel, nccl_type(data.dtype),
                             op_of(op), comm, stream);
      });
}

void NcclCommunicator::broadcast(Buffer data, int root, const Collective& call) {
  const int before = (rank_ + size_ - 1) % size_;
  ModelledMessages messages;  // along the ring, starting at the root
  if (rank_ != root) messages.push_back({before, data.numel});
  run(call, data.dtype, messages, [&](ncclComm_t comm, cudaStream_t stream) {
    return ncclBroadcast(data.data, data.data, data.numel, nccl_type(data.dtype), root,
                         comm, stream);
  });
}

void NcclCommunicator::reduce(Buffer data, int root, ReduceOp op,
                              const Collective& call) {
  const int before = (rank_ + size_ - 1) % size_;
  ModelledMessages messages;  // along the ring, ending at the root
  if (before != root) messages.push_back({before, data.numel});
  run(call, data.dtype, messages, [&](ncclComm_t comm, cudaStream_t stream) {
    return ncclReduce(data.data, data.data, data.numel, nccl_type(data.dtype),
                      op_of(op), root, comm, stream);
  });
}

void NcclCommunicator::all_gather(Buffer in, Buffer out, const Collective& call) {
  run(call, in.dtype, modelled_all_gather(rank_, size_, in.numel, RingWay::next),
      [&](ncclComm_t comm, cudaStream_t stream) {
        return ncclAllGather(in.data, out.data, in.numel, nccl_type(in.dtype), comm,
                             stream);
      });
}

void NcclCommunicator::reduce_scatter(Buffer in, Buffer out, ReduceOp op,
                                      const Collective& call) {
  run(call, in.dtype, modelled_all_gather(rank_, size_, out.numel, RingWay::next),
      [&](ncclComm_t comm, cudaStream_t stream) {
        return ncclReduceScatter(in.data, out.data, out.numel, nccl_type(in.dtype),
                                 op_of(op), comm, stream);
      });
}

void NcclCommunicator::send(Buffer data, int to, const Collective& call) {
  run(call, data.dtype, {}, [&](ncclComm_t comm, cudaStream_t stream) {
    return ncclSend(data.data, data.numel, nccl_type(data.dtype), to, comm, stream);
  });
}

void NcclCommunicator::recv(Buffer data, int from, const Collective& call) {
  run(call, data.dtype, {{from, data.numel}},
      [&](ncclComm_t comm, cudaStream_t stream) {
        return ncclRecv(data.data, data.numel, nccl_type(data.dtype), from, comm,
                        stream);
      });
}

/// Aborted work looks finished to the GPU, so the device is poisoned as well.
void NcclCommunicator::abort(const std::string& why) {
  ncclComm_t comm = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (aborted_) return;
    aborted_ = why;
    comm = std::exchange(comm_, nullptr);
  }
  runtime::context(device_).poison("collective", why);
  if (!comm) return;
  // ncclCommAbort ends the kernels, and then waits until no graph refers to the
  // communicator. The trainer destroys its graph once the poisoned device has told it.
  std::packaged_task<void()> task([comm] { ncclCommAbort(comm); });
  const std::future<void> ended = task.get_future();
  std::thread(std::move(task)).detach();
  ended.wait_for(std::chrono::seconds(5));
}

std::unique_ptr<Communicator> make_nccl(const CommunicatorOptions& options) {
  PrefixStore store("gpus", options.store);
  std::vector<std::string> keys;
  for (int r = 0; r < options.size; ++r) keys.push_back(std::to_string(r));
  store.set(keys[options.rank], gpu_name(options.device));
  store.wait(keys, options.timeout);
  std::set<std::string> gpus;
  for (const std::string& key : keys) gpus.insert(store.get(key));
  if (static_cast<int>(gpus.size()) < options.size) return nullptr;
  return std::make_unique<NcclCommunicator>(options);
}

void check_nccl(ncclResult_t status, const std::string& call, ncclComm_t comm) {
  if (status == ncclSuccess) return;
  const char* last = ncclGetLastError(comm);
  throw std::runtime_error(call + ": " + ncclGetErrorString(status) +
                           (last && *last ? std::string(", ") + last : "") +
                           " (set NCCL_DEBUG=INFO for details)");
}

ncclDataType_t nccl_type(DType type) {
  switch (type) {
    case DType::f32:
      return ncclFloat32;
    case DType::f64:
      return ncclFloat64;
    case DType::i64:
      return ncclInt64;
    default:
      return ncclUint8;
  }
}

}  // namespace lockstep::distributed
