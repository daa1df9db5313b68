// Converts PyTorch's traces to our format, and writes ours as torch.profiler would
// have, for tools that read its files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/work.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// Reads one of our traces, or imports one of torch.profiler's. A profiler's file that
/// ends early is read up to its last whole event, and `lockstep.imported.cut` says so.
/// Throws std::runtime_error if the file cannot be read for any other reason.
Trace open_trace(const std::string& path);

/// Opens the files of several ranks of one job, the profiler's or ours, and merges them
/// (format/merge.h). Returns nothing if a file does not name its rank or two name the
/// same: they are separate traces. If the ranks are of different jobs, also sets `why`.
/// Throws std::runtime_error if a file cannot be read.
std::optional<Trace> open_job(const std::vector<std::string>& paths, std::string& why);
/// The same for the text of a file, which `text.owner` keeps alive or which outlives
/// the trace. Throws std::runtime_error.
Trace open_text(const FileText& text, const std::string& name);
/// The same; also throws Cancelled if `work` is stopped.
Trace open_text(const FileText& text, const std::string& name, const Work& work);

/// Converts one rank's torch.profiler file to our format: steps, host threads, kernels
/// by device and stream with the operator that launched them, copies with their bytes,
/// NCCL kernels as collectives. `lockstep.imported` lists what was left out and what
/// is missing from such a file (sources, `deps`, model size): `check` does not judge
/// laws that require it, and an event that lacks a fact is marked `imported`. Throws
/// std::runtime_error if nothing in the trace is from PyTorch, or if it is our own. A
/// `rank` other than kNone replaces that of the file, which may lack one.
Trace import_kineto(const Trace& foreign, int64_t rank = kNone);

/// Returns why such a trace has nothing to import.
std::string why_no_profile(const Trace& trace);

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
