// From a backend's name to a communicator between processes.
#pragma once

#include <memory>
#include <string>

#include "engine/distributed/communicator.h"
#include "engine/distributed/store/store.h"

namespace lockstep::distributed {

struct CommunicatorOptions {
  std::string backend = "ring";  ///< `ring`, `gloo`; `nccl` is `ring` without CUDA
  std::shared_ptr<Store> store;
  std::string store_host;  ///< of the store; empty for a file
  int rank = 0, size = 1;
  Milliseconds timeout{60'000};
};

/// Collective over the ranks of `store`. Throws std::runtime_error, also for a backend
/// that this build lacks.
std::unique_ptr<Communicator> make_communicator(const CommunicatorOptions& options);

/// Was this build made with Gloo?
bool has_gloo();

/// The address of this machine at which ranks that reach `host` can reach us: loopback
/// if `host` is on loopback.
std::string own_address_towards(const std::string& host);

}  // namespace lockstep::distributed
