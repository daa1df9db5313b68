// A trace in memory, exactly what a trace file holds (Chrome Trace Event JSON, object
// form; the contract is written down in tracer/format/README.md).
//
// The reader fills it, the writer empties it, the recorder and the emulator produce
// it. Times are integer nanoseconds here and decimal microseconds with three digits
// in the file, so nothing is lost on the way.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/format/args.h"
#include "tracer/format/id_list.h"
#include "tracer/format/ids.h"
#include "tracer/format/keys.h"
#include "tracer/format/name.h"

namespace lockstep::tracer {

/// One entry of `traceEvents`.
///
/// The arguments that link events have fields of their own; `args` keeps all others
/// (`bytes`, `why`, `module`, `phase`, …) as they stand in the file. `facts.h` reads
/// the facts of copies, kernels and collectives from them.
struct Event {
  char ph = 'X';  ///< X complete, i mark, C counter, s/f flow, M metadata
  Name cat, name;
  int64_t pid = 0, tid = 0;
  int64_t ts = 0, dur = 0;  ///< ns since the trace's origin

  int64_t id = kNone;      ///< args.id
  int64_t step = kNone;    ///< args.step
  int64_t parent = kNone;  ///< args.parent: the caller, where it ran on another lane
  int64_t op = kNone;      ///< args.op: the op that enqueued this kernel or copy
  int64_t fwd = kNone;     ///< args.fwd: a backward op's forward op
  IdList deps;             ///< args.deps: awaited events of other streams
  IdList waits_for;        ///< args.for: what a `sync` event waited for
  Args args;               ///< the rest

  int64_t end() const { return ts + dur; }
  bool is(std::string_view category) const { return cat == category; }
};

/// A whole trace file.
struct Trace {
  std::vector<Event> events;       ///< sorted by ts, longer first (see `sort_events`)
  Json lockstep = Json::object();  ///< the top-level `lockstep` object
  Json other = Json::object();     ///< other top-level keys (`distributedInfo`, …)
  bool sorted_in_file = true;      ///< the reader did not have to sort (law `sorted`)
  /// Keeps the texts of the files in which the events' arguments stand.
  std::vector<std::shared_ptr<const void>> texts;
};

/// Sorts by ts, then longer first, then by the order in which they were recorded;
/// metadata (`M`), which has no time, comes before everything.
void sort_events(std::vector<Event>& events);

/// Reads `.json` or `.json.gz` (by content, not by name). Throws std::runtime_error
/// naming the file, what is wrong, where, and the fix. Accepts the object form and a
/// bare array of events. The events come out sorted. An argument with a field of its
/// own stays in `args` when its type is wrong, so that `check` can show it.
Trace read_trace(const std::string& path);

/// Parses JSON text; `name` stands for the file in messages.
Trace parse_trace(std::string text, const std::string& name);

/// Writes to `PATH.tmp…` and renames, so a failed write leaves nothing half-written
/// (devices such as /dev/full are written to directly). Gzip when `path` ends in
/// `.gz`. Adds the `s`/`f` flow from each op to what it enqueued. Throws
/// std::runtime_error.
void write_trace(const Trace& trace, const std::string& path);

}  // namespace lockstep::tracer
