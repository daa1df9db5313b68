// One element of `traceEvents`, as both readers of traces get it: the analyses' (see
// reader.cpp) and the viewer's (gui/model/event_reader.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "tracer/format/scanner.h"

namespace lockstep::tracer {

/// Texts are tokens of the file, with their quotes; empty where they are absent.
struct EventFields {
  EventFields() {}  // no aggregate: a copy of 300 constant bytes would take longer

  const char* begin = nullptr;  ///< its opening bracket; nullptr if it is no object
  char letter = '\0';           ///< of `ph`
  std::string_view ph, cat, name, ts, dur;
  std::string_view pid, tid;  ///< numbers, or texts in other people's files
  std::string_view flow_id;   ///< `id` beside `args`
  std::string_view args;      ///< the whole object, or whatever stands there

  // Of `args`; numbers are -1 where they are absent or no whole numbers.
  uint64_t keys = 0;     ///< the bits (see `key_bit`) of all names
  bool unusual = false;  ///< repeated, or a name has escapes: to be read as JSON
  int64_t id = -1, step = -1, parent = -1, op = -1, fwd = -1, by = -1;
  int64_t cause = -1;  ///< `op`, else the last of `by` and `parent`
  std::string_view deps, waits_for;
  int64_t rank = -1, device = -1, stream = -1;
  int64_t bytes = 0;
  int64_t correlation = -1;  ///< PyTorch's profiler: the same for a launch and its task
  int64_t sort_index = 0;
  int64_t src = -1, dst = -1;  ///< a device's id; -1 is the host
  bool has_src = false;
  int64_t seq = -1, ring_step = -1;  ///< of a collective, and of its messages
  std::string_view group, why, phase, kind;
  std::string_view text;  ///< args.name: of metadata
};

/// Reads one element, whatever it is.
template <Grammar grammar>
void read_fields(BasicScanner<grammar>& scan, EventFields& fields);

}  // namespace lockstep::tracer
