// The `init_method` of PyTorch's init_process_group: where the processes of a run meet.
// Source: torch/distributed/rendezvous.py.
#pragma once

#include <memory>
#include <string>

#include "engine/distributed/rendezvous/credentials.h"
#include "engine/distributed/rendezvous/store.h"

namespace lockstep::distributed {

struct InitMethod {
  enum class Kind { env, tcp, file, local };
  Kind kind = Kind::env;
  std::string host;                ///< env and tcp: rank 0's host
  int port = 0;                    ///< 0: chosen by rank 0; only for a world size of 1
  std::string path;                ///< file and local: path of the file
  int rank = -1, world_size = -1;  ///< as passed, or (env) RANK and WORLD_SIZE
  Credentials credentials;         ///< of this process; not used for file
};

/// Parses `env://` (reads MASTER_ADDR, MASTER_PORT and, unless passed, RANK and
/// WORLD_SIZE), `tcp://host:port`, `tcp://[IPv6]:port`, `file:///path` or, for the
/// ranks of one machine, `local:///path`: rank 0 chooses a port and writes it there.
/// Throws std::runtime_error naming the URL and the valid forms, or the missing
/// variable.
InitMethod parse_init_method(const std::string& url, int rank = -1,
                             int world_size = -1);

/// Returns the store described by `init`, after join(rank, world_size). Rank 0 hosts
/// the server, except for file; see listen_for (base/socket.h) for where it listens.
/// A TCP store admits those with the same credentials; for local, rank 0 draws a secret
/// if there is none, and writes it beside the port, for its user only.
/// `timeout` limits connecting and becomes the store's timeout. Throws what the store's
/// constructor and join() throw.
std::shared_ptr<Store> make_store(const InitMethod& init, int rank, int world_size,
                                  Milliseconds timeout = kDefaultStoreTimeout);

/// Removes the file of local. Call it on rank 0 when all ranks have joined.
void forget_place(const InitMethod& init);

}  // namespace lockstep::distributed
