// Writes our trace as torch.profiler would have, for tools that read its files.
#pragma once

#include <string>
#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// Writes `FOLDER/rank-R.pt.trace.json` (or `.json.gz`) for each rank, either for
/// all of them or for none, and returns the file names. Virtual devices appear as
/// GPUs: pid is the device; tid and `stream` are 7 for compute, 13 and 14 for
/// copies to and from the host, and 20 for collectives. The top-level object
/// `lockstep` lists what no profiler measured. Throws std::runtime_error if the
/// trace is not in our format or the folder contains the ranks of another export.
std::vector<std::string> export_kineto(const Trace& trace, const std::string& folder,
                                       bool gzip);

/// Returns the events of one rank's file, sorted by time.
std::vector<Event> kineto_events(const Trace& trace, int64_t rank);

}  // namespace lockstep::tracer
