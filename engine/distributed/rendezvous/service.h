// How a store's server answers requests, without sockets and threads
// (tcp_store_server.cpp has those).
//
// Each request is answered once: at once or, get and wait, when another request sets
// the last missing key or when its timeout expires.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "engine/distributed/rendezvous/frame.h"
#include "engine/distributed/rendezvous/table.h"

namespace lockstep::distributed::store {

/// Not thread-safe. Requests may come from anyone; invalid ones are refused.
class Service {
 public:
  /// The number of a connection; never reused for another one.
  using Client = int64_t;

  struct Answer {
    Client to;
    Frame frame;
  };
  using Answers = std::vector<Answer>;

  /// Handles a request; returns its answer (unless it must wait) and the answers to
  /// parked requests that waited for it.
  Answers handle(Client from, const Frame& request);

  /// Must be called when a connection is closed. Drops its parked requests and sets
  /// gone_key(rank) for each rank that joined on it and has not left; returns the
  /// answers to requests that waited for these keys.
  Answers disconnected(Client client);

  /// Returns answers to the parked requests whose timeout has expired: the keys that
  /// are missing.
  Answers expire(TimePoint now);

  /// Returns when expire() must be called next; nullopt if nothing is parked.
  std::optional<TimePoint> next_deadline() const;

  /// Returns how many ranks have joined and are neither gone nor have left.
  size_t members_present() const { return present_.size(); }

 private:
  struct Wait {
    Client client;
    Op op;  ///< get or wait
    std::vector<std::string> keys;
    TimePoint deadline;
  };

  Frame answer_to(Client from, const Frame& request);
  void join(Client from, const Fields& fields);
  void leave(Client from);
  void park(Client from, const Frame& request);

  /// Answers the parked requests whose keys have all been set.
  void wake(Answers& answers);

  KeyValues values_;
  Members members_;
  std::map<int, Client> present_;  ///< rank → the connection that it joined on
  std::vector<Wait> waits_;        ///< parked: each lacks a key
};

}  // namespace lockstep::distributed::store
