// What the ranks of a DDP run say to each other, and how much of it costs time.
#pragma once

#include <string>
#include <vector>

#include "tracer/analysis/steps.h"
#include "tracer/format/lanes.h"

namespace lockstep::tracer {

/// One collective as one rank saw it. Times in ns.
struct CollectiveTime {
  int64_t rank = 0, seq = 0, bucket = kNone;
  std::string what;  ///< `bucket 0`, `buffers`, …; else why it ran
  int64_t bytes = 0;
  int64_t took = 0;      ///< from its start to its end
  int64_t transfer = 0;  ///< its messages moving to this rank
  int64_t wait = 0;      ///< the rest: waiting for the other ranks
  /// Nobody saw its messages (imported), or when they moved (modelled, as Gloo's): then
  /// transfer and wait are 0 and mean nothing.
  bool unseen = false;
  int64_t exposed = 0;  ///< while this rank's device computed nothing

  static const std::vector<int64_t CollectiveTime::*> kTimes;  ///< the four above

  /// The share of its time that was hidden behind computing.
  double overlap() const {
    return took > 0 ? 1 - static_cast<double>(exposed) / static_cast<double>(took) : 0;
  }
};

/// In order of rank and time.
std::vector<CollectiveTime> collective_times(const Step& step, const Lanes& lanes);

/// The mean of the same collective (by what it carries) over steps and ranks, in order
/// of first appearance; `seq` and `rank` are those of the first.
struct MeanCollective {
  CollectiveTime mean;
  int64_t count = 0;
};
std::vector<MeanCollective> mean_collectives(
    const std::vector<const std::vector<CollectiveTime>*>& steps);

}  // namespace lockstep::tracer
