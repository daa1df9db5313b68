// Messages between processes over TCP.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/fd.h"
#include "engine/distributed/collectives/acceptor.h"
#include "engine/distributed/collectives/transport.h"
#include "engine/distributed/rendezvous/store.h"

namespace lockstep::distributed {

/// Uses one connection per (sender, receiver) pair, opened on first use. Ranks look up
/// each other's addresses, with a token for each, in the store (see Acceptor). The
/// protocol for a message:
///
///   receiver → sender   its tag: "I am ready for this"
///   sender → receiver   its own tag, then the bytes
///
/// Both ends compare the tags, so ranks that make different calls fail before any data
/// is sent. As with NCCL, no transfer begins before its receiver is ready.
class TcpTransport : public Transport {
 public:
  /// Listens on `host`, an address of this machine that the other ranks can reach.
  TcpTransport(std::shared_ptr<Store> store, std::string host, int rank, int size,
               Milliseconds timeout);
  ~TcpTransport() override;

  Exchanged exchange(const Outgoing* out, const Incoming* in,
                     const Collective& call) override;
  void abort(const std::string& why) override;
  bool shares_recorder() const override { return false; }

 private:
  class Sending;
  class Receiving;

  const Fd& channel_to(int peer, const Collective& call);
  const Fd& channel_from(int peer, const Collective& call);
  void run(Sending* out, Receiving* in, const Collective& call);
  void throw_if_aborted() const;
  [[noreturn]] void late(int peer, const Collective& call) const;

  std::shared_ptr<Store> store_;
  const int rank_, size_;
  const Milliseconds timeout_;
  Acceptor acceptor_;
  Fd wake_;
  std::map<int, Fd> to_, from_;
  std::vector<char> bounce_;  ///< received bytes that have yet to be combined

  mutable std::mutex mutex_;
  std::optional<std::string> aborted_;
};

}  // namespace lockstep::distributed
