// Accepts connections of other ranks, and checks that they are from this job.
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
/// Handshakes are read concurrently: a silent, slow or wrong one is closed, and does
/// not delay others. Not thread-safe.
class Acceptor {
 public:
  /// Listens on `host`, an address of this machine. Throws as listen_at does.
  explicit Acceptor(const std::string& host);

  /// Returns "host port token": what a sender must know, for the store.
  const std::string& address() const { return address_; }

  /// Waits until the deadline, until `wake` is readable, or until something has
  /// happened to a connection. Returns the connections whose handshakes are complete,
  /// with their ranks, which may be any number.
  std::vector<std::pair<int, Fd>> poll(const Fd& wake, TimePoint deadline);

 private:
  struct Pending {
    Fd socket;
    TimePoint since;
    std::string handshake;  ///< as much of it as has come
  };

  bool is_full() const;
  void accept_next(TimePoint now);
  bool read_handshake(Pending& pending, std::vector<std::pair<int, Fd>>& arrived) const;

  const std::string token_;
  Fd listener_;
  std::string address_;
  std::deque<Pending> pending_;  ///< oldest first
  TimePoint accept_again_{};     ///< when the last attempt failed for lack of memory
};

/// A connection to the rank at `address` (see Acceptor::address), on which the
/// handshake has been sent; or an empty Fd and the reason.
struct Reached {
  Fd socket;
  std::string why_not;
};
Reached reach(const std::string& address, int own_rank, TimePoint deadline);

/// Returns "host port", for messages: the token is a secret.
std::string shown_address(const std::string& address);

}  // namespace lockstep::distributed
