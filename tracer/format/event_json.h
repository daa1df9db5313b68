// Conversion of one entry of `traceEvents` from and to JSON.
#pragma once

#include <map>
#include <stdexcept>
#include <string>

#include "tracer/format/event_fields.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// Thrown for a time that is out of range; `what` returns its digits.
struct OutOfRange : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Converts entries to events. Other programs use strings as pid and tid
/// ("Spans"); each string is assigned a unique number, far below every real one.
class EventReader {
 public:
  /// Fills `event`, whose arguments stay in the file's text. Throws std::runtime_error
  /// describing what is wrong with the entry (but not its location).
  void read(const EventFields& fields, Event& event);

  /// Returns true if a string stood for a process or thread.
  bool has_numbered_texts() const { return !numbers_.empty(); }
  std::map<int64_t, std::string> numbered_texts() const;  ///< by number

 private:
  Name name_of(std::string_view token, const char* key);
  int64_t lane_number(std::string_view token, const char* key);

  NameCache names_;
  std::map<std::string, int64_t> numbers_;
};

/// Writes events as JSON; keeps its memory between them.
class EventWriter {
 public:
  /// Appends the entry as one line, without the newline.
  void append(const Event& event, std::string& text);

 private:
  Args::Members members_;
};

/// Returns the entry as one line of JSON, without the newline.
std::string event_line(const Event& event);

}  // namespace lockstep::tracer
