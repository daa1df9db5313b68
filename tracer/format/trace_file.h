// Reads a trace file event by event: `{"traceEvents": [ … ], …}` or a bare list.
#pragma once

#include <cstdint>
#include <string_view>

#include "tracer/format/event_fields.h"
#include "tracer/format/keys.h"

namespace lockstep::tracer {

/// Iterates over the text of a trace.
///
///     TraceFile<Grammar::strict> file(text);
///     for (Found found = file.next(); found != Found::end; found = file.next()) …
///
/// After `end`, `scan().error()` is nullptr if the end of the file was reached.
template <Grammar grammar>
class TraceFile {
 public:
  enum class Found : uint8_t {
    events,  ///< the list of events was entered
    event,   ///< `fields()`
    member,  ///< of the file's object, except the list of events: `key()`, `value()`
    end,
  };

  TraceFile() = default;
  /// Enters the text, whose first non-blank character must be { or [.
  explicit TraceFile(std::string_view text) : scan_(text) {
    bare_ = scan_.peek() == '[';
    more_ = scan_.enter(bare_ ? '[' : '{');
    where_ = bare_ ? Where::events : Where::members;
    has_events_ = bare_;
    scan_.ignore_open_brackets();
  }

  /// Enters the list of events after one of them: `rest` begins after the closing
  /// bracket of an event.
  static TraceFile within_events(std::string_view rest) {
    TraceFile file;
    file.scan_ = BasicScanner<grammar>(rest);
    file.where_ = Where::events;
    file.bare_ = file.has_events_ = file.more_ = file.after_value_ = true;
    return file;
  }

  Found next() {
    while (true) {
      unit_ = scan_.at();
      unit_is_first_ = !after_value_;
      if (after_value_) more_ = scan_.more(in_events() ? ']' : '}');
      after_value_ = true;
      if (!more_ && (bare_ || !in_events() || scan_.error() != nullptr)) {
        return Found::end;
      }
      if (!more_) {
        leave_events();
      } else if (in_events()) {
        read_fields(scan_, fields_);
        return scan_.error() == nullptr ? Found::event : Found::end;
      } else if (enter_events()) {
        return Found::events;
      } else {
        value_ = scan_.value();
        return scan_.error() == nullptr ? Found::member : Found::end;
      }
    }
  }

  /// Continues after another event of the list, which ends at `place`.
  void skip_to(const char* place) { scan_.skip_to(place); }

  const EventFields& fields() const { return fields_; }
  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }

  const BasicScanner<grammar>& scan() const { return scan_; }
  bool is_bare() const { return bare_; }
  bool has_events() const { return has_events_; }  ///< a list of events was entered
  bool in_events() const { return where_ == Where::events; }

  /// Start of what comes next or was read last: the position after
  /// the previous event or member, or after the opening bracket.
  const char* unit() const { return unit_; }
  bool unit_is_first() const { return unit_is_first_; }

 private:
  enum class Where : uint8_t { members, events };

  bool enter_events() {
    key_ = scan_.key();
    if (key_ != top::events || scan_.peek() != '[') return false;
    more_ = scan_.enter('[');
    scan_.ignore_open_brackets();
    where_ = Where::events;
    has_events_ = true;
    after_value_ = false;
    return true;
  }

  void leave_events() {
    where_ = Where::members;
    scan_.ignore_open_brackets();
  }

  BasicScanner<grammar> scan_;
  Where where_ = Where::members;
  bool bare_ = false, has_events_ = false;
  bool more_ = false;         ///< something follows at this level
  bool after_value_ = false;  ///< … if a comma follows
  const char* unit_ = nullptr;
  bool unit_is_first_ = true;
  EventFields fields_;
  std::string_view key_, value_;
};

}  // namespace lockstep::tracer
