// The longest path through a step: what its time was made of, and the proof that the
// trace names every reason for waiting.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tracer/analysis/steps.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// A stretch of the longest path, spent in one event or on the host between events.
struct PathPiece {
  int64_t event = kNone;  ///< id: the task, or the host event in which it was spent
  std::string what;       ///< `host`, `waiting for a core`, or the task's phase
  int64_t nanoseconds = 0;
};

struct LongestPath {
  int64_t path = 0;               ///< ns, from the edges and durations alone
  int64_t measured = 0;           ///< ns, the step's `seconds`
  std::vector<PathPiece> pieces;  ///< from the step's start to its end
  /// What the pieces are, each once, in order of first appearance, and their sums.
  std::vector<std::pair<std::string, int64_t>> shares;
  double ratio() const { return measured ? static_cast<double>(path) / measured : 0; }
};

/// Over parent, op, deps, FIFO and sync edges, with measured durations (`queued_us`
/// belongs to its kernel) and no recorded gap: if some wait is missing from the
/// trace, the path comes out too short. Throws std::runtime_error on circles.
LongestPath longest_path(const Trace& trace, const Step& step);

/// The same for several steps of one trace, building its graph once, and without the
/// pieces: only their sums.
std::vector<LongestPath> longest_paths(const Trace& trace, const Lanes& lanes,
                                       const std::vector<Step>& steps);

}  // namespace lockstep::tracer
