// The request handling of a store's server, without sockets or threads (see
// tcp_store_server.cpp for those).
//
// Each request is answered exactly once: immediately or, for get and wait, when another
// request sets the last missing key or the timeout expires.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "engine/distributed/rendezvous/frame.h"
#include "engine/distributed/rendezvous/heartbeats.h"
#include "engine/distributed/rendezvous/table.h"

namespace lockstep::distributed::store {

/// Not thread-safe. Requests are not trusted; invalid ones are refused.
class Service {
 public:
  /// Keys and values may have `most_bytes` in all; more are refused.
  explicit Service(size_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}
  static constexpr size_t kMostBytes = 256 << 20;

  /// Identifies a connection; never reused.
  using Client = int64_t;

  struct Answer {
    Client to;
    Frame frame;
  };
  using Answers = std::vector<Answer>;

  /// Handles a request; returns its answer (unless it must wait) and the answers to
  /// parked requests that it completes.
  Answers handle(Client from, const Frame& request);

  /// Must be called when a connection is closed. Drops its parked requests and sets
  /// gone_key(rank) for each rank that joined on it and has not left. Returns the
  /// answers to requests that were waiting for these keys.
  Answers disconnected(Client client);

  /// Returns answers, listing the missing keys, to the parked requests whose timeout
  /// has expired.
  Answers expire(TimePoint now);

  /// Returns when expire() must be called next; nullopt if no request is parked.
  std::optional<TimePoint> next_deadline() const;

  /// Returns the number of ranks that have joined and have neither left nor been lost.
  size_t members_present() const { return present_.size(); }

  /// Returns why the last rank that could not join was refused, with the fix; "" if
  /// there was none. If rank 0 itself could not, nothing can begin: all requests but
  /// leave are then refused for the same reason.
  const std::string& refused_to_join() const { return refused_to_join_; }

 private:
  struct Wait {
    Client client;
    Op op;  ///< get or wait
    std::vector<std::string> keys;
    TimePoint deadline;
  };

  Frame answer_to(Client from, const Frame& request);
  Frame beat(const Fields& fields);
  void join(Client from, const Fields& fields);
  void leave(Client from);
  void park(Client from, const Frame& request);

  void refuse_all(Answers& answers);

  /// Answers the parked requests whose keys are now all set.
  void wake(Answers& answers);

  /// Throws std::runtime_error if the store would exceed its limit.
  void set(const std::string& key, const std::string& value);

  const size_t most_bytes_;
  KeyValues values_;
  Members members_;
  Heartbeats heartbeats_;
  std::string refused_to_join_;
  bool rank_0_is_refused_ = false;
  std::map<int, Client> present_;  ///< rank → the connection on which it joined
  std::vector<Wait> waits_;        ///< parked requests; each is missing a key
};

}  // namespace lockstep::distributed::store
