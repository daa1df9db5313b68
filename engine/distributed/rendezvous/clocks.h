// Compares the clocks of a job's machines, for their traces.
//
// As in NTP, a rank asks for rank 0's time and notes when it asked and when the answer
// came: the answer was given between the two. The shortest of several round trips is
// the most exact. Comparisons at the start and at the end show how the clocks drift.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/distributed/rendezvous/store.h"
#include "engine/distributed/rendezvous/tcp_store.h"

namespace lockstep::distributed {

/// One comparison with rank 0's clock; times are those of monotonic_ns().
struct ClockSample {
  int64_t at_ns = 0;          ///< when, on this clock
  int64_t offset_ns = 0;      ///< rank 0's clock minus this one, give or take
  int64_t round_trip_ns = 0;  ///< … half of this
};

struct RoundTrip {
  int64_t asked = 0, theirs = 0, answered = 0;
};
/// Returns the comparison that the shortest trip makes. REQUIRES: there is one.
ClockSample compare_clocks(const std::vector<RoundTrip>& trips);

/// Returns the name of the clock that this process reads: its boot, and its time
/// namespace unless that is the machine's own.
std::string clock_name();

/// This rank's clock beside rank 0's. Rank 0 answers on a thread and a port of its own,
/// so that neither the store nor training delays its answers much. Not thread-safe.
class RankClock {
 public:
  /// Must be called by all ranks of the store. `address`: this rank's. Compares the
  /// clocks once, except in rank 0. Throws as the store, and if rank 0 cannot be
  /// reached at its address.
  RankClock(Store& store, int rank, const std::string& address);

  /// Compares once more. Does nothing if this rank reads rank 0's clock, or if rank 0
  /// does not answer: the comparisons so far remain.
  void compare();

  /// Whether this rank reads rank 0's clock. Believed only if the comparison confirms
  /// it: copies of a virtual machine have one boot id.
  bool is_reference() const { return is_reference_; }
  const std::string& name() const { return name_; }
  const std::vector<ClockSample>& samples() const { return samples_; }

 private:
  ClockSample ask() const;

  std::unique_ptr<TcpStoreServer> server_;  ///< in rank 0
  std::string host_, name_;
  Credentials credentials_;  ///< drawn by rank 0 for this server
  int port_ = 0;
  bool is_reference_ = true;
  std::vector<ClockSample> samples_;
};

}  // namespace lockstep::distributed
