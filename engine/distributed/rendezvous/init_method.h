// init_process_group's `init_method`: where the processes of a run meet.
// Source: torch/distributed/rendezvous.py.
#pragma once

#include <memory>
#include <string>

#include "engine/distributed/rendezvous/store.h"

namespace lockstep::distributed {

struct InitMethod {
  enum class Kind { env, tcp, file };
  Kind kind = Kind::env;
  std::string host;                ///< of rank 0 (env and tcp)
  int port = 0;                    ///< 0: rank 0 chooses one, in a world of one only
  std::string path;                ///< of the file (file)
  int rank = -1, world_size = -1;  ///< as given; env: else from the environment
};

/// Reads `env://` (MASTER_ADDR, MASTER_PORT and, where the caller gives none, RANK and
/// WORLD_SIZE), `tcp://host:port`, `tcp://[IPv6]:port` or `file:///path`. Throws
/// std::runtime_error naming the url and the forms, or the variable that is missing.
InitMethod parse_init_method(const std::string& url, int rank = -1,
                             int world_size = -1);

/// The store that `init` names, after join(rank, world_size). With env and tcp, rank 0
/// keeps the server, which listens at `init.host`: an address of that machine, and for
/// ranks on others not one of loopback. `timeout` holds for meeting and becomes the
/// store's own. Throws what the store's constructor and join() throw.
std::shared_ptr<Store> make_store(const InitMethod& init, int rank, int world_size,
                                  Milliseconds timeout = kDefaultStoreTimeout);

}  // namespace lockstep::distributed
