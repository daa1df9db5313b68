// What the viewer wants to know of one element of `traceEvents`.
#pragma once

#include <cstdint>
#include <string_view>

#include "gui/model/scanner.h"

namespace lockstep::gui {

/// Texts are views into the file, with their quotes; empty where they are absent.
struct EventFields {
  EventFields() {}  // no aggregate: a copy of 250 constant bytes would take longer

  const char* begin = nullptr;  ///< its opening bracket
  char ph = '\0';
  std::string_view cat, name, ts, dur;
  std::string_view pid, tid;  ///< numbers, or texts in other people's files

  // Of `args`; numbers are -1 where they are absent or no whole numbers.
  int64_t id = -1, step = -1, rank = -1, device = -1, stream = -1;
  int64_t cause = -1;  ///< args.op, else args.by or args.parent
  int64_t bytes = 0;
  int64_t correlation =
      -1;  ///< PyTorch's profiler: the same for a launch and its kernel
  int64_t sort_index = 0;
  int64_t src = -1, dst = -1;  ///< a device's id; -1 is the host
  bool has_src = false;
  int64_t seq = -1, ring_step = -1;  ///< of a collective, and of its messages
  std::string_view group;
  std::string_view why, phase, kind;
  std::string_view text;  ///< args.name: of metadata
};

/// Reads one element, whatever it is; `begin` stays nullptr if it is no object.
EventFields read_fields(Scanner& scan);

}  // namespace lockstep::gui
