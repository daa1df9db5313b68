// `trace check`: verifies that a file conforms to the contract and that exactly the
// bytes required by data parallelism moved. The laws are in tracer/format/README.md.
#pragma once

#include <string>
#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// The result for a law that holds, or one violation.
struct Finding {
  std::string law;  ///< its short name: `nesting`, `replicate-bytes`, …
  bool ok = true;
  bool judged = true;     ///< false if the trace lacks the facts
  std::string message;    ///< what was checked or what is wrong, with numbers
  int64_t event = kNone;  ///< the id of the relevant event
  size_t times = 1;       ///< number of violations that this stands for
};

struct CheckReport {
  std::vector<Finding> findings;  ///< in the order of the laws, at least one for each
  std::string partial;  ///< what a recording that is not whole consists of; else empty
  bool ok() const;
};

/// Judges the whole trace; never throws because of its content. Byte laws are not
/// judged for interrupted steps or for modes unknown to this version. In an imported
/// trace, most laws lack the required facts and are reported as not judged; so are, in
/// a partial recording (tracer/format/partial.h), those of what ranks do together.
CheckReport check_trace(const Trace& trace);

/// Returns one line per law or violation: verdict, law, message and event.
std::string check_text(const CheckReport& report);

/// {"ok": bool, "laws": [{"law", "ok", "message", "event"?, "judged"?: false}]}
Json check_json(const CheckReport& report);

}  // namespace lockstep::tracer
