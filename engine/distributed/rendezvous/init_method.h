// `init_method` of PyTorch's init_process_group: where the processes of a run meet.
// Source: torch/distributed/rendezvous.py.
#pragma once

#include <memory>
#include <string>

#include "engine/distributed/rendezvous/store.h"

namespace lockstep::distributed {

struct InitMethod {
  enum class Kind { env, tcp, file };
  Kind kind = Kind::env;
  std::string host;                ///< env and tcp: rank 0's
  int port = 0;                    ///< 0: rank 0 chooses; only for a world size of 1
  std::string path;                ///< file: the file's
  int rank = -1, world_size = -1;  ///< as given; with env else RANK and WORLD_SIZE
};

/// Parses `env://` (reads MASTER_ADDR, MASTER_PORT and, unless given, RANK and
/// WORLD_SIZE), `tcp://host:port`, `tcp://[IPv6]:port` or `file:///path`. Throws
/// std::runtime_error naming the url and the valid forms, or the missing variable.
InitMethod parse_init_method(const std::string& url, int rank = -1,
                             int world_size = -1);

/// Returns the store that `init` names, after join(rank, world_size). With env and tcp,
/// rank 0 keeps the server, which listens at `init.host`; that must be an address of
/// its machine, and not loopback if ranks run on others. `timeout` limits connecting
/// and becomes the store's timeout. Throws what the constructor and join() throw.
std::shared_ptr<Store> make_store(const InitMethod& init, int rank, int world_size,
                                  Milliseconds timeout = kDefaultStoreTimeout);

}  // namespace lockstep::distributed
