// One entry of `traceEvents`, from and to JSON.
#pragma once

#include <map>
#include <string>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// Turns JSON objects into events. Other programs use texts as pid and tid ("Spans");
/// each gets a number of its own, far below every real one.
class EventReader {
 public:
  /// `json` is consumed; its `ts` and `dur` are in nanoseconds already. Throws
  /// std::runtime_error saying what is wrong with the entry (not where it stands).
  Event read(Json&& json);

 private:
  int64_t lane_number(const Json& json, const char* key);
  std::map<std::string, int64_t> numbers_;
};

/// The entry as one line of JSON, without the line's end.
std::string event_line(const Event& event);

}  // namespace lockstep::tracer
