// One entry of `traceEvents`, from and to JSON.
#pragma once

#include <map>
#include <stdexcept>
#include <string>

#include "tracer/format/event_fields.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// A time that no event can have; `what` is its digits.
struct OutOfRange : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Turns entries into events. Other programs use texts as pid and tid ("Spans"); each
/// gets a number of its own, far below every real one.
class EventReader {
 public:
  /// Fills `event`, whose arguments stay in the file's text. Throws std::runtime_error
  /// saying what is wrong with the entry (not where it stands).
  void read(const EventFields& fields, Event& event);

 private:
  Name name_of(std::string_view token, const char* key);
  int64_t lane_number(std::string_view token, const char* key);

  NameCache names_;
  std::map<std::string, int64_t> numbers_;
};

/// The entry as one line of JSON, without the line's end.
std::string event_line(const Event& event);

}  // namespace lockstep::tracer
