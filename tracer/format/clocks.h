// The clocks of a job's machines, put on one: that of rank 0's machine.
//
// Ranks of one machine read one clock. Every other machine compared its clock with rank
// 0's by exchanging messages (engine/distributed/rendezvous/clocks.h), at the start and
// at the end: `rank_clock.offsets` of its ranks' files. Between two comparisons the
// offset is linear: clocks drift. What a comparison leaves uncertain (half a round
// trip), the training's own messages decide: none arrives before it is sent, and none
// is sent before its receiver is ready.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

namespace top {
inline constexpr char clocks[] = "clocks";  ///< in `lockstep` of a merged file
}

/// Maps times of one clock (ns) to another: linear between its points, parallel to the
/// axis outside. Monotonic if built by ClockMap::from_offsets.
class ClockMap {
 public:
  struct Point {
    int64_t at = 0;      ///< on the clock that is mapped
    int64_t offset = 0;  ///< to be added there
  };

  ClockMap() = default;  ///< the identity
  /// `points` must be in the order of `at`.
  explicit ClockMap(std::vector<Point> points) : points_(std::move(points)) {}

  int64_t operator()(int64_t time) const;
  int64_t offset_at(int64_t time) const;
  /// Returns whether later times are always mapped to later times or equal ones.
  bool is_monotonic() const;
  const std::vector<Point>& points() const { return points_; }

 private:
  std::vector<Point> points_;
};

/// The clock of one machine.
struct MachineClock {
  std::vector<int64_t> ranks;
  bool reference = false;     ///< rank 0's clock: nothing to compare
  bool compared = false;      ///< its ranks compared it with the reference
  int64_t offset_ns = 0;      ///< reference minus this clock when the trace begins
  double drift_ppm = 0;       ///< how much faster the reference runs
  int64_t round_trip_ns = 0;  ///< the comparison is exact to half of it
  int64_t moved_ns = 0;       ///< the largest correction by messages, either way
};

/// How the ranks' clocks were aligned.
struct ClockReport {
  std::vector<MachineClock> machines;
  int64_t messages = 0;      ///< between machines, known to both ends
  int64_t contradicted = 0;  ///< of these, how many the comparisons alone contradict
  int64_t left = 0;          ///< how many still do; 0 unless a clock jumped
  int64_t residual_ns = 0;   ///< by how much, at most

  /// Returns one line for a person; empty for a single machine.
  std::string text() const;
  Json json() const;  ///< `lockstep.clocks` of the merged file
};

/// Returns, for each rank, the map from its machine's clock (times since boot, that is,
/// `rank_clock.origin_ns` plus the event's time) to the reference clock. Ranks of one
/// machine get the same map. A machine that was never compared is assumed to have
/// chosen its origin at the same moment as the first rank.
std::vector<ClockMap> align_clocks(const std::vector<Trace>& ranks,
                                   ClockReport& report);

}  // namespace lockstep::tracer
