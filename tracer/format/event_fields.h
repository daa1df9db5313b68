// One element of `traceEvents`, as read by both trace readers: the one for
// the analyses (reader.cpp) and the viewer's (gui/model/event_reader.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "tracer/format/scanner.h"

namespace lockstep::tracer {

/// Strings are tokens of the file, including their quotes; empty if absent.
struct EventFields {
  EventFields() {}  // not an aggregate: copying 300 constant bytes would be slower

  const char* begin = nullptr;  ///< its opening bracket; nullptr if it is not an object
  char letter = '\0';           ///< of `ph`
  std::string_view ph, cat, name, ts, dur;
  std::string_view pid, tid;  ///< numbers, or strings in files from other programs
  std::string_view flow_id;   ///< `id` next to `args`
  std::string_view args;      ///< the whole object, or whatever value is in its place

  // From `args`. Numbers keep their initial value if absent; -1 if not integers.
  uint64_t keys = 0;     ///< bits (see `key_bit`) of all names
  bool unusual = false;  ///< `args` is repeated or a name has escapes: read as JSON
  int64_t id = -1, step = -1, parent = -1, op = -1, fwd = -1, by = -1;
  int64_t cause = -1;  ///< `op`, else the last of `by` and `parent`
  std::string_view deps, waits_for;
  int64_t rank = -1, device = -1, stream = -1;
  int64_t bytes = 0;
  int64_t correlation = -1;  ///< PyTorch profiler: the same for a launch and its task
  int64_t sort_index = 0;
  int64_t src = -1, dst = -1;  ///< a device's id; -1 is the host
  bool has_src = false;
  int64_t seq = -1, ring_step = -1;  ///< of a collective and its messages
  int64_t memory_counters = -1, src_memory_counters = -1;
  std::string_view group, why, phase, kind;
  std::string_view text;  ///< args.name, for metadata
};

/// Reads one element of any type.
template <Grammar grammar>
void read_fields(BasicScanner<grammar>& scan, EventFields& fields);

}  // namespace lockstep::tracer
