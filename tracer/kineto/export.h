// Our trace as torch.profiler would have written it, for the tools that read its files.
#pragma once

#include <string>
#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// Writes `FOLDER/rank-R.pt.trace.json` (or `.json.gz`) for each rank, all of them or
/// none, and returns their names. Virtual devices stand as GPUs: pid is the device, tid
/// and `stream` 7 for compute, 13 and 14 for copies to and from the host, 20 for
/// collectives. The top-level object `lockstep` says what no profiler measured.
/// Throws std::runtime_error when the trace is not of our format, or the folder holds
/// the ranks of another export.
std::vector<std::string> export_kineto(const Trace& trace, const std::string& folder,
                                       bool gzip);

/// The events of one rank's file, in order of time.
std::vector<Event> kineto_events(const Trace& trace, int64_t rank);

}  // namespace lockstep::tracer
