// The client of a TCP store: `tcp://host:port` and `env://` of init_process_group.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/fd.h"
#include "engine/distributed/rendezvous/frame.h"
#include "engine/distributed/rendezvous/store.h"
#include "engine/distributed/rendezvous/tcp_store_server.h"

namespace lockstep::distributed {

/// Each request has a connection to itself while it is under way, taken from those that
/// are idle or newly made. So a thread that waits for a key holds up no other, and the
/// protocol needs no numbers to tell answers apart. One more connection says join() and
/// is then silent: when the process dies, however it dies, the system closes it, and
/// the server sets gone_key(rank). (A machine that loses its power closes nothing.)
///
/// StoreGone is thrown when the server is lost, and when it does not answer: get and
/// wait give it one second more than their timeout, other calls timeout().
/// Source: torch/csrc/distributed/c10d/TCPStore.cpp.
class TcpStore : public Store {
 public:
  /// Connects, and tries again until `timeout`, since the server may start later. With
  /// a `server` this process is rank 0, and the server lives as long as this object.
  /// Throws StoreGone if nobody listens until then, and std::runtime_error if the host
  /// cannot be resolved or if what listens there is no store.
  TcpStore(std::string host, int port, Milliseconds timeout = kDefaultStoreTimeout,
           std::unique_ptr<TcpStoreServer> server = nullptr);
  ~TcpStore() override;

  using Store::get;
  using Store::wait;

  void set(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key, Milliseconds timeout) override;
  std::optional<std::string> try_get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t amount) override;
  void wait(const std::vector<std::string>& keys, Milliseconds timeout) override;
  std::string compare_set(const std::string& key, const std::string& expected,
                          const std::string& desired) override;
  bool remove(const std::string& key) override;
  void join(int rank, int world_size) override;
  void leave() override;
  void linger(Milliseconds timeout) override;
  std::string describe() const override;

 private:
  /// One request on a connection of its own; throws if it is refused.
  store::Frame ask(const store::Frame& request);
  store::Frame ask(const store::Frame& request, Milliseconds patience);

  /// The same for get and wait, whose first field is the timeout.
  store::Fields ask_and_wait(store::Op op, const std::vector<std::string>& keys,
                             Milliseconds timeout);

  void connect_first();
  Fd connect_again();
  store::Frame exchange(const Fd& socket, const store::Frame& request,
                        Milliseconds patience) const;
  [[noreturn]] void gone(const std::string& reason) const;

  const std::unique_ptr<TcpStoreServer> server_;  // or null; first, so it goes last
  const std::string host_;
  const int port_;
  const int exceptions_at_construction_;

  std::mutex mutex_;  // guards idle_
  std::vector<Fd> idle_;

  std::mutex membership_;  // guards member_
  Fd member_;              // the connection that has said join
};

}  // namespace lockstep::distributed
