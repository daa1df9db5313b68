// `trace check`: is this file what the contract says, and did exactly those bytes move
// that data parallelism must move? See tracer/format/README.md for the laws.
#pragma once

#include <string>
#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// A law that holds, or one violation of a law.
struct Finding {
  std::string law;  ///< its short name: `nesting`, `replicate-bytes`, …
  bool ok = true;
  bool judged = true;     ///< false: the trace lacks the facts
  std::string message;    ///< what was checked, or what is wrong, with the numbers
  int64_t event = kNone;  ///< the id of the event to look at
  size_t times = 1;       ///< how many violations this stands for
};

struct CheckReport {
  std::vector<Finding> findings;  ///< in the order of the laws, each at least once
  bool ok() const;
};

/// Judges the whole trace; never throws on account of its content. Byte laws of
/// interrupted steps, and of modes that this version does not know, are not judged. In
/// an imported trace, most laws lack their facts, and say so.
CheckReport check_trace(const Trace& trace);

/// One line per law; violations first name the law, then the event.
std::string check_text(const CheckReport& report);

/// {"ok": bool, "laws": [{"law", "ok", "message", "event"?, "judged"?: false}]}
Json check_json(const CheckReport& report);

}  // namespace lockstep::tracer
