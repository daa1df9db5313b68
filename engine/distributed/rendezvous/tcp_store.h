// A store over TCP: a server in the process of rank 0, and a client in every process.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/socket.h"
#include "engine/distributed/rendezvous/credentials.h"
#include "engine/distributed/rendezvous/frame.h"
#include "engine/distributed/rendezvous/service.h"
#include "engine/distributed/rendezvous/store.h"

namespace lockstep::distributed {

/// The server: one thread that serves many connections, from construction until
/// destruction. No client can block it: sockets are non-blocking, and each connection
/// has its own buffers and at most one pending request. A client that sends garbage or
/// an oversized frame loses that connection; others are not affected.
///
/// A connection is unauthenticated until its handshake (credentials.h) is complete.
/// Until then nothing else is read from it, and its time is limited. Unauthenticated
/// connections do not take members' places, but many of them can delay a member's.
/// Source: torch/csrc/distributed/c10d/TCPStoreBackend.cpp.
class TcpStoreServer {
 public:
  struct Limits {
    Milliseconds handshake = std::chrono::seconds(10);  ///< time limit …
    int unauthenticated = 512;  ///< … as long as there are fewer of these, else:
    Milliseconds crowded = std::chrono::seconds(1);
    size_t bytes = store::Service::kMostBytes;  ///< of all keys and values
  };

  /// Listens on loopback or on the given host; for port 0, the system chooses a port.
  /// Throws std::runtime_error naming the address if that fails.
  TcpStoreServer() : TcpStoreServer(loopback_address(), 0) {}
  TcpStoreServer(const std::string& host, int port) : TcpStoreServer(host, port, {}) {}
  TcpStoreServer(const std::string& host, int port, Limits limits,
                 Credentials credentials = {});
  /// Serves on a listening socket (see listen_for in base/socket.h); `host` is its
  /// name.
  TcpStoreServer(Fd listener, std::string host)
      : TcpStoreServer(std::move(listener), std::move(host), {}) {}
  TcpStoreServer(Fd listener, std::string host, Limits limits,
                 Credentials credentials = {});

  /// Closes all connections: subsequent client calls throw StoreGone.
  ~TcpStoreServer();

  const std::string& host() const { return host_; }
  int port() const { return port_; }

  /// Returns the address by which a process of this machine reaches the server.
  std::string near_address() const;

  /// Returns the address of this machine by which a rank on another machine has reached
  /// the server; "" if none has. Thread-safe.
  std::string far_address();

  /// Returns a sentence on the last process whose proof was wrong, with its address, or
  /// on one that could not join, with the reason and the fix; "" if there was none.
  /// Thread-safe.
  std::string refusal();

  /// Waits until every rank that has joined has left or is gone; returns false if some
  /// ranks are still present after `timeout`. Thread-safe.
  bool wait_until_left(Milliseconds timeout);

 private:
  struct Connection {
    Fd socket;
    TimePoint accepted;
    std::string in, out;             ///< received but not parsed; answered but not sent
    store::Nonces nonces;            ///< of its handshake
    bool is_unauthenticated = true;  ///< until its handshake is over
    bool closes_when_sent = false;   ///< to be closed when `out` is sent
    bool is_owed = false;            ///< its request has not been answered yet
    bool is_closed = false;          ///< to be removed at the end of the iteration
    uint32_t watched = 0;            ///< the events that epoll_ ends its wait for
  };

  void serve();
  bool watch(const Fd& fd, int64_t id, uint32_t& watched, uint32_t events);
  void watch(store::Service::Client id, Connection& connection);
  int milliseconds_to_sleep(TimePoint now) const;
  bool may_accept(TimePoint now) const;
  Milliseconds handshake_timeout() const;
  void accept_next();
  bool drop_oldest_unauthenticated();
  void drop_late_handshakes();
  void close(store::Service::Client id, Connection& connection);
  void handshake(store::Service::Client id, Connection& connection,
                 const store::Frame& frame);
  store::Frame answer_to_proof(store::Service::Client id, Connection& connection,
                               const store::Fields& fields);
  void attend(store::Service::Client id, Connection& connection, uint32_t events);
  void read_requests(store::Service::Client id, Connection& connection);
  void send(store::Service::Client id, Connection& connection);
  void deliver(const store::Service::Answers& answers);
  void read_on();
  void remove_closed();
  void note_address(const Fd& member);

  const std::string host_;
  const Limits limits_;
  const Credentials credentials_;
  const Fd listener_;
  const int port_;
  const Fd stop_;   ///< becomes readable when the server must stop
  const Fd epoll_;  ///< so that a wait costs as much as there is to do, not N

  // Accessed only by the server thread.
  store::Service service_;
  std::map<store::Service::Client, Connection> connections_;
  store::Service::Client last_id_ = 0;
  uint32_t listener_watched_ = 0;
  std::set<store::Service::Client> unauthenticated_;  ///< in the order of their arrival
  std::vector<store::Service::Client> to_remove_;     ///< closed connections
  std::vector<store::Service::Client> to_read_;       ///< have more requests in `in`
  TimePoint accept_again_;  ///< earliest next accept, after running out of descriptors

  std::mutex mutex_;  ///< guards present_, far_address_ and refusal_
  std::condition_variable left_;
  size_t present_ = 0;
  std::string far_address_, refusal_;

  std::thread thread_;  ///< last member: started after all others are constructed
};

/// The client, for `tcp://host:port` and `env://` of init_process_group.
///
/// Each pending request has a connection to itself, either an idle one or a new one. A
/// thread that waits for a key therefore does not block others, and answers do not need
/// request numbers. join() uses an additional connection, which is silent until
/// leave(): if the process dies for any reason, the system closes it, and the server
/// sets gone_key(rank). (A machine that loses power does not close its connections.)
///
/// Calls throw StoreGone if the server is lost or does not respond within timeout();
/// get and wait allow one second more than their own timeout.
/// Source: torch/csrc/distributed/c10d/TCPStore.cpp.
class TcpStore : public Store {
 public:
  /// Connects, retrying for up to `timeout` because the server may start later, and the
  /// name of its machine, too. Rank 0 passes its `server`, which then lives as long as
  /// this object. Throws StoreGone if no server is listening in time, and
  /// std::runtime_error if the host cannot be resolved in time, if the listener is not
  /// a store, or if its credentials differ; the message then says which and the fix.
  TcpStore(std::string host, int port, Milliseconds timeout = kDefaultStoreTimeout,
           std::unique_ptr<TcpStoreServer> server = nullptr,
           Credentials credentials = {});
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
  Health beat(const Beat& mine) override;
  void join(int rank, int world_size) override;
  void leave() override;
  void linger(Milliseconds timeout) override;
  std::string own_address() const override;
  std::string refusal() const override;
  std::string describe() const override;

  /// Asks for the time of the server's clock: see monotonic_ns() and clocks.h.
  int64_t server_clock();

 private:
  /// Sends a request on a separate connection and returns the answer. Throws
  /// std::runtime_error if the request is refused.
  store::Frame ask(const store::Frame& request);
  store::Frame ask(const store::Frame& request, Milliseconds patience);

  /// Same, for get and wait, whose first field is the timeout. Throws StoreTimeout.
  store::Fields ask_and_wait(store::Op op, const std::vector<std::string>& keys,
                             Milliseconds timeout);

  void connect_first();
  Fd connect_again();
  Fd connect_by(TimePoint deadline) const;
  bool handshake(const Fd& socket, TimePoint deadline) const;
  store::Frame exchange(const Fd& socket, const store::Frame& request,
                        Milliseconds patience) const;
  std::string lost(const std::string& reason) const;
  [[noreturn]] void gone(const std::string& reason) const;

  const std::unique_ptr<TcpStoreServer> server_;  ///< may be null; destroyed last
  const std::string host_;
  const std::string reached_at_;  ///< host_, or in its own process a nearer address
  const int port_;
  const Credentials credentials_;
  const int exceptions_at_construction_;

  std::mutex mutex_;  ///< guards idle_
  std::vector<Fd> idle_;

  mutable std::mutex membership_;  ///< guards member_
  Fd member_;                      ///< the connection of join(); empty before
};

}  // namespace lockstep::distributed
