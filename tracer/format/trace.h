// A trace in memory, with exactly the content of a trace file (Chrome Trace
// Event JSON, object form; the contract is defined in tracer/format/README.md).
//
// The reader fills it, the writer writes it, and the recorder and the
// emulator produce it. Times are integer nanoseconds here and decimal
// microseconds with three digits in the file, so no precision is lost.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/format/args.h"
#include "tracer/format/id_list.h"
#include "tracer/format/keys.h"
#include "tracer/format/name.h"

namespace lockstep::tracer {

/// One entry of `traceEvents`.
///
/// The arguments that link events have dedicated fields; `args` keeps all
/// others (`bytes`, `why`, `module`, `phase`, …) as written in the file.
/// `facts.h` reads the facts about copies, kernels and collectives from them.
struct Event {
  char ph = 'X';  ///< X complete, i mark, C counter, s/f flow, M metadata
  Name cat, name;
  int64_t pid = 0, tid = 0;
  int64_t ts = 0, dur = 0;  ///< ns since the trace's origin

  int64_t id = kNone;      ///< args.id
  int64_t step = kNone;    ///< args.step
  int64_t parent = kNone;  ///< args.parent: the caller, if it ran on another lane
  int64_t op = kNone;      ///< args.op: the op that enqueued this kernel or copy
  int64_t fwd = kNone;     ///< args.fwd: the forward op of a backward op
  IdList deps;             ///< args.deps: awaited events of other streams
  IdList waits_for;        ///< args.for: what a `sync` event waited for
  Args args;               ///< the rest

  int64_t end() const { return ts + dur; }
  bool is(std::string_view category) const { return cat == category; }
  template <size_t N>
  bool is(const char (&category)[N]) const {
    return is_name(cat.view(), category);
  }
};

/// A whole trace file.
struct Trace {
  std::vector<Event> events;       ///< sorted by ts, longer first (see `sort_events`)
  Json lockstep = Json::object();  ///< the top-level `lockstep` object
  Json other = Json::object();     ///< other top-level keys (`distributedInfo`, …)
  bool sorted_in_file = true;      ///< false if the reader had to sort (law `sorted`)
  /// The texts that the file uses as pid or tid, by the number that stands for each.
  std::map<int64_t, std::string> lane_texts;
  /// Keeps the texts of the files that the events' arguments refer to.
  std::vector<std::shared_ptr<const void>> texts;
};

/// Returns true if `a` comes before `b`: by ts, then longer first; metadata (`M`),
/// which has no time, comes before everything else.
inline bool comes_before(const Event& a, const Event& b) {
  if (a.ph == 'M' || b.ph == 'M') return a.ph == 'M' && b.ph != 'M';
  return a.ts != b.ts ? a.ts < b.ts : a.dur > b.dur;
}

/// Sorts by `comes_before`, then by the order in which the events were recorded.
void sort_events(std::vector<Event>& events);

/// Reads `.json` or `.json.gz` (detected by content, not by name). Throws
/// std::runtime_error naming the file, the problem, its location and the fix. Accepts
/// the object form and a bare array of events. Returns the events sorted. An argument
/// that has its own field stays in `args` if its type is wrong, so `check` can show it.
Trace read_trace(const std::string& path);

/// Parses JSON text; `name` identifies the file in messages.
Trace parse_trace(std::string text, const std::string& name);

struct FileText;  // file_io.h
/// Parses text that `text.owner` keeps alive, or that outlives the trace.
Trace parse_trace(const FileText& text, const std::string& name);

/// Writes a temporary file and renames it (base/file.h), so a failed write never leaves
/// a partial file. Compresses with gzip if `path` ends in `.gz`. Adds the `s`/`f` flow
/// from each op to what it enqueued. Throws std::runtime_error on failure.
void write_trace(const Trace& trace, const std::string& path);

/// Returns what `write_trace` writes, uncompressed.
std::string trace_text(const Trace& trace);

}  // namespace lockstep::tracer
