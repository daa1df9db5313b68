// Communication between the ranks of a DDP run, and the time it costs.
//
// The time of a collective, from its start to its end on one rank, has three parts:
//   hidden behind backward   the rank's device runs a kernel of backward
//   behind other kernels     … only kernels of other phases, such as those that copy
//                            the means back from DDP's buckets
//   exposed                  … no kernel that computes: a message moves to or from the
//                            rank, or it waits for other ranks (`exposed_wait`)
// `overlap` is the share of the first two. This is the only meaning of `exposed`. The
// class `collectives` of a step's split (split.h) is smaller: of the exposed time, only
// that in which messages arrive and no kernel waits for a core.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tracer/analysis/spans.h"
#include "tracer/analysis/steps.h"
#include "tracer/format/lanes.h"

namespace lockstep::tracer {

struct CollectiveFacts;
/// Returns what a collective is of: `bucket 0`, `buffers`, …; otherwise its reason.
std::string what_of(const CollectiveFacts& collective);

/// One collective as seen by one rank. Times in ns.
struct CollectiveTime {
  int64_t rank = 0, seq = 0, bucket = kNone;
  std::string what;      ///< `bucket 0`, `buffers`, …; otherwise the reason for it
  int64_t bytes = 0;     ///< kNone if unknown (imported)
  int64_t took = 0;      ///< from its start to its end
  int64_t transfer = 0;  ///< time during which its messages moved to this rank
  int64_t wait = 0;      ///< the rest: waiting for the other ranks
  /// True if its messages (imported, or in other ranks' files) or their times
  /// (modelled, as for Gloo) were not recorded: transfer, wait and exposed_wait are
  /// then 0 and have no meaning.
  bool unseen = false;
  int64_t exposed = 0;       ///< time during which this rank's device computed nothing
  int64_t exposed_wait = 0;  ///< … and no message moved to or from this rank
  int64_t backward = 0;      ///< … ran kernels of backward; 0 if phases are unknown

  static const std::vector<int64_t CollectiveTime::*> kTimes;  ///< the six above

  /// Returns the exposed time in which messages moved. REQUIRES !unseen.
  int64_t exposed_transfer() const { return exposed - exposed_wait; }
  /// Returns the time during which only kernels of other phases than backward ran.
  int64_t others() const { return took - exposed - backward; }
  /// Returns the fraction of its time that was hidden behind computation.
  double overlap() const {
    return took > 0 ? 1 - static_cast<double>(exposed) / static_cast<double>(took) : 0;
  }
};

/// When each device of each rank computed.
class ComputingTime {
 public:
  /// A kernel that computes, for callers that have events of another form.
  struct Kernel {
    int64_t rank = 0, device = 0;
    int64_t begin = 0, end = 0;  ///< ns
    bool backward = false;       ///< its phase
  };

  ComputingTime() = default;  ///< never
  ComputingTime(const Trace& trace, const Lanes& lanes);
  ComputingTime(const Step& step, const Lanes& lanes);
  explicit ComputingTime(const std::vector<Kernel>& kernels);

  /// Returns the time between two moments in which the lane's device computed.
  int64_t between(const Lane& lane, int64_t from, int64_t to) const;
  /// … in which it ran kernels of backward.
  int64_t backward(const Lane& lane, int64_t from, int64_t to) const;
  /// Divides the time of a collective that starts at `from` on a lane: sets `exposed`,
  /// `backward` and, unless it is unseen, `exposed_wait`; `messages` are those that
  /// move to or from the rank. REQUIRES `took` and `unseen`.
  void divide(const Lane& lane, int64_t from, const Spans& messages,
              CollectiveTime& time) const;

 private:
  using Merged = LaneMap<std::vector<std::pair<int64_t, int64_t>>>;
  struct Kernels {
    LaneMap<Spans> all, backward;
    void add(const Event& event, const Lanes& lanes);
    void add(const Kernel& kernel);
  };
  void merge(const Kernels& kernels);
  static int64_t covered(const Merged& merged, const Lane& lane, int64_t from,
                         int64_t to);

  Merged merged_, backward_;  ///< by rank and device
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
  size_t first = 0, last = 0;  ///< indices of the first and last step that has it
};
std::vector<MeanCollective> mean_collectives(
    const std::vector<const std::vector<CollectiveTime>*>& steps);

}  // namespace lockstep::tracer
