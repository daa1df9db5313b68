// Reads a long list of events in parts, on all cores.
//
// The text is cut wherever an event seems to begin, and the parts are read at the same
// time. A cut may be wrong: the same characters may occur inside a string. So the
// reader of the whole file (reader.cpp) takes over a part only if it arrives exactly at
// its beginning; otherwise it reads on by itself. Whatever the text holds, the events
// and the errors are those of reading it from front to back.
#pragma once

#include <deque>
#include <future>
#include <string_view>
#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// Consecutive events. Both ends are positions after the closing brace of an event.
struct EventPart {
  const char *begin = nullptr, *end = nullptr;
  std::vector<Event> events;
  bool sorted = true;      ///< no event comes before its predecessor
  bool has_flows = false;  ///< `s` or `f`
};

class ReadAhead {
 public:
  ReadAhead() = default;  ///< reads nothing
  /// Starts to read after `from`, the end of an event in the list of events of `text`.
  ReadAhead(std::string_view text, const char* from);

  /// Returns the part that begins at `place`, or nullptr. Must be called with ascending
  /// places. The events may be moved from; they are valid until the next call. A part
  /// ends before the first event that needs the whole file's reader: one that is
  /// damaged, or whose process or thread is a text.
  EventPart* part_at(const char* place);

 private:
  void start_parts();

  size_t at_once_ = 0;
  const char *text_end_ = nullptr, *next_ = nullptr;  ///< next_: nullptr at the end
  std::deque<std::pair<const char*, std::future<EventPart>>> parts_;  ///< with `begin`
  EventPart current_;
};

}  // namespace lockstep::tracer
