// Creates a communicator between ranks from the name of a backend.
#pragma once

#include <memory>
#include <string>

#include "base/socket.h"
#include "engine/distributed/collectives/communicator.h"
#include "engine/distributed/rendezvous/store.h"
#include "engine/tensor/types.h"

namespace lockstep::distributed {

struct CommunicatorOptions {
  /// `ring`, `gloo`, `mpi` or `nccl`. `nccl` falls back to `ring` without CUDA devices
  /// and if two ranks share a GPU.
  std::string backend = "ring";
  std::shared_ptr<Store> store;
  std::string address = loopback_address();  ///< of this rank, for the others
  int rank = 0, size = 1;
  Milliseconds timeout{60'000};
  Device device = kHost;  ///< device of the tensors, if the host cannot read its memory
  std::string group = "default";  ///< a ring's name in traces
};

/// Must be called by all ranks of `store`. Throws std::runtime_error on failure,
/// including if this build lacks the backend.
std::unique_ptr<Communicator> make_communicator(const CommunicatorOptions& options);

/// Returns whether this build includes Gloo.
bool has_gloo();

/// Returns an NCCL communicator if each rank has its own CUDA GPU; null if ranks share
/// a GPU or this build lacks NCCL. Must be called by all ranks of `store`.
std::unique_ptr<Communicator> try_nccl(const CommunicatorOptions& options);
/// The message to print if `try_nccl` returns null.
inline constexpr const char* kNoNccl =
    "=> nccl requires one GPU per rank and a build with NCCL: using ring";

}  // namespace lockstep::distributed
