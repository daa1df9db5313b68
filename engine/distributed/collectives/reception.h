// Where other ranks connect to this one, and how it tells them from strangers.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/fd.h"

namespace lockstep::distributed {

/// Listens for the ranks that send to this one. The first bytes on a connection are the
/// sender's rank and this rank's token, which only those know who may use the store.
/// Connections wait side by side until their greeting has come: one that is silent,
/// slow or wrong loses its connection and delays nobody. Not thread-safe.
class Reception {
 public:
  /// Listens on `host`, an address of this machine. Throws as listen_at does.
  explicit Reception(const std::string& host);

  /// Returns "host port token": what a sender must know, for the store.
  const std::string& address() const { return address_; }

  /// Waits until the deadline, until `wake` is readable, or until something has
  /// happened to a connection. Returns the connections whose greetings have come since,
  /// with their ranks, which may be any number.
  std::vector<std::pair<int, Fd>> attend(const Fd& wake, TimePoint deadline);

 private:
  struct Guest {
    Fd socket;
    TimePoint since;
    std::string greeting;  ///< as much of it as has come
  };

  bool is_full() const;
  void accept_next(TimePoint now);
  bool read_greeting(Guest& guest, std::vector<std::pair<int, Fd>>& arrived) const;

  const std::string token_;
  Fd listener_;
  std::string address_;
  std::deque<Guest> guests_;  ///< oldest first
  TimePoint accept_again_{};  ///< when the last attempt failed for lack of memory
};

/// A connection to the rank at `address` (see Reception::address), which has been
/// greeted; or an empty Fd and the reason.
struct Reached {
  Fd socket;
  std::string why_not;
};
Reached reach(const std::string& address, int own_rank, TimePoint deadline);

/// Returns "host port", for messages: the token is a secret.
std::string shown_address(const std::string& address);

}  // namespace lockstep::distributed
