// Communication between the ranks of a DDP run, and the time it costs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tracer/analysis/spans.h"
#include "tracer/analysis/steps.h"
#include "tracer/format/lanes.h"

namespace lockstep::tracer {

/// One collective as seen by one rank. Times in ns.
struct CollectiveTime {
  int64_t rank = 0, seq = 0, bucket = kNone;
  std::string what;      ///< `bucket 0`, `buffers`, …; otherwise the reason for it
  int64_t bytes = 0;     ///< kNone if unknown (imported)
  int64_t took = 0;      ///< from its start to its end
  int64_t transfer = 0;  ///< time during which its messages moved to this rank
  int64_t wait = 0;      ///< the rest: waiting for the other ranks
  /// True if its messages (imported) or their times (modelled, as for Gloo) were not
  /// recorded: transfer and wait are then 0 and have no meaning.
  bool unseen = false;
  int64_t exposed = 0;  ///< time during which this rank's device computed nothing

  static const std::vector<int64_t CollectiveTime::*> kTimes;  ///< the four above

  /// Returns the fraction of its time that was hidden behind computation.
  double overlap() const {
    return took > 0 ? 1 - static_cast<double>(exposed) / static_cast<double>(took) : 0;
  }
};

/// When each device of each rank computed.
class ComputingTime {
 public:
  ComputingTime() = default;  ///< never
  ComputingTime(const Trace& trace, const Lanes& lanes);
  ComputingTime(const Step& step, const Lanes& lanes);

  /// Returns the time between two moments in which the lane's device computed.
  int64_t between(const Lane& lane, int64_t from, int64_t to) const;

 private:
  void merge(const LaneMap<Spans>& computing);

  LaneMap<std::vector<std::pair<int64_t, int64_t>>> merged_;  ///< by rank and device
};

/// Returns the collectives sorted by rank and time. Computation for other steps hides
/// them, too, if `computing` covers the whole trace.
std::vector<CollectiveTime> collective_times(const Step& step, const Lanes& lanes,
                                             const ComputingTime& computing);
std::vector<CollectiveTime> collective_times(const Step& step, const Lanes& lanes);

/// The mean of the same collective (by content) over steps and ranks, in
/// order of first appearance; `seq` and `rank` are those of the first.
struct MeanCollective {
  CollectiveTime mean;
  int64_t count = 0;
};
std::vector<MeanCollective> mean_collectives(
    const std::vector<const std::vector<CollectiveTime>*>& steps);

}  // namespace lockstep::tracer
