// The process that keeps a TCP store: one thread, many connections.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "base/deadline.h"
#include "base/fd.h"
#include "engine/distributed/rendezvous/frame.h"
#include "engine/distributed/rendezvous/service.h"

namespace lockstep::distributed {

/// Serves until it is destroyed. Nobody can hold it up: sockets never block, each
/// connection has buffers of its own and holds at most one request. Whoever sends
/// garbage or a frame that is too long loses that connection, and nothing else happens.
/// Source: torch/csrc/distributed/c10d/TCPStoreBackend.cpp.
class TcpStoreServer {
 public:
  struct Limits {
    int connections = 512;  ///< more wait to be accepted until others close
    /// How long a connection may take for its first request: strangers that say
    /// nothing must not use up the connections.
    Milliseconds stranger = std::chrono::seconds(10);
  };

  /// Listens. Loopback unless told otherwise; port 0: the system chooses one. Throws
  /// std::runtime_error naming the address if that is not possible.
  TcpStoreServer() : TcpStoreServer("127.0.0.1", 0) {}
  TcpStoreServer(const std::string& host, int port) : TcpStoreServer(host, port, {}) {}
  TcpStoreServer(const std::string& host, int port, Limits limits);

  /// Closes all connections: clients that still ask get StoreGone.
  ~TcpStoreServer();

  const std::string& host() const { return host_; }
  int port() const { return port_; }

  /// Waits until every rank that has joined has left or is gone; false if some are
  /// still there after `timeout`.
  bool wait_until_left(Milliseconds timeout);

 private:
  struct Connection {
    Fd socket;
    TimePoint accepted;
    std::string in, out;      // bytes that are no whole frame yet, or not sent yet
    bool is_stranger = true;  // until its first whole frame
    bool is_owed = false;     // a request without an answer as yet
    bool is_closed = false;   // to be taken away at the end of the turn
  };

  void serve();
  int milliseconds_to_sleep() const;
  bool may_accept() const;
  void accept_next();
  void attend(store::Service::Client id, Connection& connection, short events);
  void deliver(const store::Service::Answers& answers);
  void take_away_closed();

  const std::string host_;
  const Limits limits_;
  const Fd listener_;
  const int port_;
  const Fd stop_;  // becomes readable when the server must stop

  // The thread's own.
  store::Service service_;
  std::map<store::Service::Client, Connection> connections_;
  store::Service::Client last_id_ = 0;
  TimePoint accept_again_;  // after the system had no descriptor left

  std::mutex mutex_;  // guards present_
  std::condition_variable left_;
  size_t present_ = 0;

  std::thread thread_;  // last: begins when all the rest is there
};

}  // namespace lockstep::distributed
