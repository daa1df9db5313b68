// A store over TCP: a server in rank 0's process, and clients in all of them.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/deadline.h"
#include "base/fd.h"
#include "engine/distributed/rendezvous/frame.h"
#include "engine/distributed/rendezvous/service.h"
#include "engine/distributed/rendezvous/store.h"

namespace lockstep::distributed {

/// The server: one thread that serves many connections from construction to
/// destruction. No client can block it: sockets never block, and each connection has
/// buffers of its own and at most one request under way. A client that sends garbage or
/// a frame that is too long loses that connection; the others are not affected.
/// Source: torch/csrc/distributed/c10d/TCPStoreBackend.cpp.
class TcpStoreServer {
 public:
  struct Limits {
    int connections = 512;  ///< further ones wait to be accepted until others close
    /// How long a connection may take for its first request, so that strangers that
    /// send nothing do not use up the connections.
    Milliseconds stranger = std::chrono::seconds(10);
  };

  /// Listens, on loopback unless a host is given; port 0: the system chooses one.
  /// Throws std::runtime_error naming the address if that fails.
  TcpStoreServer() : TcpStoreServer("127.0.0.1", 0) {}
  TcpStoreServer(const std::string& host, int port) : TcpStoreServer(host, port, {}) {}
  TcpStoreServer(const std::string& host, int port, Limits limits);

  /// Closes all connections: later calls of clients throw StoreGone.
  ~TcpStoreServer();

  const std::string& host() const { return host_; }
  int port() const { return port_; }

  /// Waits until every rank that has joined has left or is gone; returns false if some
  /// are still present after `timeout`. Thread-safe.
  bool wait_until_left(Milliseconds timeout);

 private:
  struct Connection {
    Fd socket;
    TimePoint accepted;
    std::string in, out;      ///< received but not yet parsed; answered but not sent
    bool is_stranger = true;  ///< until its first whole frame
    bool is_owed = false;     ///< its request has no answer yet
    bool is_closed = false;   ///< to be removed at the end of the turn
  };

  void serve();
  int milliseconds_to_sleep() const;
  bool may_accept() const;
  void accept_next();
  void attend(store::Service::Client id, Connection& connection, short events);
  void deliver(const store::Service::Answers& answers);
  void remove_closed();

  const std::string host_;
  const Limits limits_;
  const Fd listener_;
  const int port_;
  const Fd stop_;  ///< becomes readable when the server must stop

  // Used by the thread only.
  store::Service service_;
  std::map<store::Service::Client, Connection> connections_;
  store::Service::Client last_id_ = 0;
  TimePoint accept_again_;  ///< no accept before this: descriptors had run out

  std::mutex mutex_;  ///< guards present_
  std::condition_variable left_;
  size_t present_ = 0;

  std::thread thread_;  ///< last member: starts when all others are constructed
};

/// The client: `tcp://host:port` and `env://` of init_process_group.
///
/// Each request has a connection to itself while it is under way, an idle one or a new
/// one. So a thread that waits for a key does not block others, and answers need no
/// request numbers. join() has one more connection, which is silent afterwards: when
/// the process dies, for whatever reason, the system closes it, and the server sets
/// gone_key(rank). (A machine that loses power closes nothing.)
///
/// Calls throw StoreGone if the server is lost or does not answer within timeout(); get
/// and wait allow one second more than their own timeout.
/// Source: torch/csrc/distributed/c10d/TCPStore.cpp.
class TcpStore : public Store {
 public:
  /// Connects; retries until `timeout`, since the server may start later. Rank 0 passes
  /// its `server`, which then lives as long as this object. Throws StoreGone if nothing
  /// listens there in time, and std::runtime_error if the host cannot be resolved or if
  /// the listener is not a store.
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
  /// Sends a request on a connection of its own and returns the answer. Throws
  /// std::runtime_error if it is refused.
  store::Frame ask(const store::Frame& request);
  store::Frame ask(const store::Frame& request, Milliseconds patience);

  /// The same for get and wait, whose first field is the timeout. Throws StoreTimeout.
  store::Fields ask_and_wait(store::Op op, const std::vector<std::string>& keys,
                             Milliseconds timeout);

  void connect_first();
  Fd connect_again();
  store::Frame exchange(const Fd& socket, const store::Frame& request,
                        Milliseconds patience) const;
  [[noreturn]] void gone(const std::string& reason) const;

  const std::unique_ptr<TcpStoreServer> server_;  ///< or null; destroyed last
  const std::string host_;
  const int port_;
  const int exceptions_at_construction_;

  std::mutex mutex_;  ///< guards idle_
  std::vector<Fd> idle_;

  std::mutex membership_;  ///< guards member_
  Fd member_;              ///< the connection of join(); none before it
};

}  // namespace lockstep::distributed
