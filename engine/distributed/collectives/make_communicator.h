// From a backend's name to a communicator between ranks.
#pragma once

#include <memory>
#include <string>

#include "engine/distributed/collectives/communicator.h"
#include "engine/distributed/rendezvous/store.h"
#include "engine/tensor/device.h"

namespace lockstep::distributed {

struct CommunicatorOptions {
  /// `ring`, `gloo`, or `nccl`, which falls back to `ring` without CUDA devices and
  /// where two ranks share a GPU.
  std::string backend = "ring";
  std::shared_ptr<Store> store;
  std::string store_host;  ///< of the store; empty for a file
  int rank = 0, size = 1;
  Milliseconds timeout{60'000};
  Device device = kHost;  ///< of the tensors, if the host cannot read its memory
};

/// Must be called by all ranks of `store`. Throws std::runtime_error, also for a
/// backend that this build lacks.
std::unique_ptr<Communicator> make_communicator(const CommunicatorOptions& options);

/// Returns whether this build has Gloo.
bool has_gloo();

/// Returns NCCL between CUDA devices, each on a GPU of its own; null if they share GPUs
/// or this build has no NCCL. Must be called by all ranks of `store`.
std::unique_ptr<Communicator> try_nccl(const CommunicatorOptions& options);
/// The message to print when `try_nccl` returns null.
inline constexpr const char* kNoNccl =
    "=> nccl needs a GPU for each rank, and a build with NCCL: the backend is ring";

/// Returns the address at which ranks that can reach `host` can reach this machine:
/// loopback if `host` is on loopback.
std::string own_address_towards(const std::string& host);

}  // namespace lockstep::distributed
