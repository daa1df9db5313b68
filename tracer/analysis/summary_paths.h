// A summary that another thread can stop, with the longest path of each step piece by
// piece.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/work.h"
#include "tracer/analysis/summary.h"
#include "tracer/emulate/longest_path.h"

namespace lockstep::tracer {

/// The longest paths of complete steps, by step number.
using PathPieces = std::map<int64_t, std::vector<PathPiece>>;

/// Like `summarize(trace)`. Also adds the pieces of the steps' paths to `pieces`,
/// unless devices are of type null. Throws Cancelled if `work` is stopped.
Summary summarize(const Trace& trace, Work& work, PathPieces& pieces);

/// Sorts by time, longest first.
void sort_shares(std::vector<PathShare>& shares);

}  // namespace lockstep::tracer
