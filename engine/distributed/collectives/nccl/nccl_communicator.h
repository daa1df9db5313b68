// Collectives using NCCL, NVIDIA's library for communication between GPUs.
#pragma once

#include <nccl.h>

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "engine/distributed/collectives/make_communicator.h"
#include "engine/distributed/collectives/modelled_messages.h"
#include "engine/tensor/types.h"

namespace lockstep::distributed {

/// Each rank has its own GPU. Calls enqueue work on the comm stream's queue and return;
/// as with all CUDA work, readers of the result must wait for it. NCCL does not expose
/// its messages. If the trace is being recorded, each call waits for its collective and
/// records the messages that the ring algorithm implies, marked `modelled`. Source:
/// NCCL API (ncclAllReduce, ncclCommInitRank, ncclCommAbort).
class NcclCommunicator : public Communicator {
 public:
  /// Must be called by all ranks. REQUIRES: no two ranks on one GPU.
  explicit NcclCommunicator(const CommunicatorOptions& options);
  ~NcclCommunicator() override;

  const char* algorithm() const override { return "nccl"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void all_reduce(Buffer data, ReduceOp op, const Collective& call) override;
  void broadcast(Buffer data, int root, const Collective& call) override;
  void reduce(Buffer data, int root, ReduceOp op, const Collective& call) override;
  void all_gather(Buffer in, Buffer out, const Collective& call) override;
  void reduce_scatter(Buffer in, Buffer out, ReduceOp op,
                      const Collective& call) override;
  void send(Buffer data, int to, const Collective& call) override;
  void recv(Buffer data, int from, const Collective& call) override;

  /// Terminates kernels that are waiting on the GPU for other ranks.
  void abort(const std::string& why) override;

 private:
  using Enqueue = std::function<ncclResult_t(ncclComm_t, cudaStream_t)>;
  void run(const Collective& call, DType dtype, const ModelledMessages& messages,
           const Enqueue& enqueue);

  const int rank_, size_;
  const Device device_;
  std::mutex mutex_;
  ncclComm_t comm_ = nullptr;
  std::optional<std::string> aborted_;
};

/// Returns null if two ranks share a GPU. Must be called by all ranks of the store.
std::unique_ptr<Communicator> make_nccl(const CommunicatorOptions& options);

// NCCL error codes and data types:

/// Throws std::runtime_error naming the call and the last error of `comm` on failure.
void check_nccl(ncclResult_t status, const std::string& call,
                ncclComm_t comm = nullptr);

/// Returns NCCL's type for `type`; the byte type if NCCL has no equivalent.
ncclDataType_t nccl_type(DType type);

}  // namespace lockstep::distributed
