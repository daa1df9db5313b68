// The longest path through a step: the components of its time,
// and the proof that the trace records every reason for waiting.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tracer/analysis/steps.h"
#include "tracer/emulate/retime.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// A section of the longest path, spent in one event or on the host between events.
struct PathPiece {
  int64_t event = kNone;  ///< id of the task, or of the host event containing it
  std::string what;       ///< `host`, `waiting for a core` (`the GPU`), or the phase
  int64_t nanoseconds = 0;
  int64_t offset = 0;  ///< ns from the event's recorded start to the piece's end
};

struct LongestPath {
  int64_t path = 0;               ///< ns, computed only from edges and durations
  int64_t measured = 0;           ///< ns, the step's `seconds`
  std::vector<PathPiece> pieces;  ///< from the step's start to its end
  /// The distinct values of `what`, in order of first appearance, with their sums.
  std::vector<std::pair<std::string, int64_t>> shares;
  double ratio() const { return measured ? static_cast<double>(path) / measured : 0; }
};

/// Uses parent, op, deps, FIFO and sync edges with measured durations
/// (`queued_us` belongs to its kernel) and no recorded gaps: if a wait is missing
/// from the trace, the path is too short. Throws std::runtime_error on cycles.
LongestPath longest_path(const Trace& trace, const Step& step);

/// Finds the paths of several steps of one trace, whose graph is built only once.
class LongestPaths {
 public:
  /// Throws std::runtime_error on cycles. The trace and its lanes must outlive this.
  LongestPaths(const Trace& trace, const Lanes& lanes);

  /// Returns the path of each step, with its pieces.
  std::vector<LongestPath> of(const std::vector<Step>& steps) const;

  /// Returns the pieces of one step's path, from its start to its end.
  std::vector<PathPiece> pieces(const Step& step) const;

 private:
  const Lanes& lanes_;
  const TimingGraph graph_;
  const Schedule schedule_;
};

}  // namespace lockstep::tracer
