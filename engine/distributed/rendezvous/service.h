// What a store's server does with a request, whoever carries it: no sockets, no
// threads.
//
// Each request is answered once: now, or (get and wait) when another request brings the
// last missing key, or when its time is up.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "engine/distributed/rendezvous/frame.h"
#include "engine/distributed/rendezvous/key_values.h"
#include "engine/distributed/rendezvous/members.h"

namespace lockstep::distributed::store {

/// Not thread-safe. Requests are taken from anybody: wrong ones are refused.
class Service {
 public:
  /// Names a connection; never used again for another.
  using Client = int64_t;

  struct Answer {
    Client to;
    Frame frame;
  };
  using Answers = std::vector<Answer>;

  /// The answers that a request gives rise to: its own, and others' that waited for it.
  Answers handle(Client from, const Frame& request);

  /// The connection is closed: its waits are forgotten, and gone_key(rank) is set for
  /// each rank that has joined on it and not left.
  Answers disconnected(Client client);

  /// Those whose time is up hear which keys are missing.
  Answers expire(TimePoint now);

  std::optional<TimePoint> next_deadline() const;

  /// Ranks that have joined and are still there.
  size_t members_present() const { return present_.size(); }

 private:
  struct Wait {
    Client client;
    Op op;  // get or wait
    std::vector<std::string> keys;
    TimePoint deadline;
  };

  Frame answer_to(Client from, const Frame& request);
  void join(Client from, const Fields& fields);
  void leave(Client from);
  void park(Client from, const Frame& request);

  /// Answers the parked requests that lack nothing any more.
  void wake(Answers& answers);

  KeyValues values_;
  Members members_;
  std::map<int, Client> present_;  // rank → the connection that it joined on
  std::vector<Wait> waits_;
};

}  // namespace lockstep::distributed::store
