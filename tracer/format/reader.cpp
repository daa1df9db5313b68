// Reading a trace. The text is parsed as a stream: each entry of `traceEvents` becomes
// an `Event` as soon as it is complete, so a large file is never held as one JSON tree,
// and `ts` and `dur` are taken from the digits that stand in the file.
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <unordered_set>

#include "tracer/format/event_json.h"
#include "tracer/format/file_io.h"
#include "tracer/format/times.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer {

namespace {

// Limits far beyond any honest trace: they bound what a hostile file can ask for.
constexpr size_t kMaxNesting = 64;
constexpr size_t kMaxKeys = 10'000;
constexpr size_t kMaxEvents = 20'000'000;

/// Receives the parser's tokens. `unit_` is the value being built: one event, or the
/// value of one top-level key; `open_` are its containers that are still open.
class TraceBuilder : public nlohmann::json_sax<Json> {
 public:
  TraceBuilder(const std::string& text, const std::string& name)
      : text_(text), name_(name) {}

  Trace take() {
    if (!saw_events_) fail("has no `traceEvents`. Is it a Chrome trace?");
    return std::move(trace_);
  }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool binary(binary_t&) override { return add(nullptr); }  // never in JSON text
  bool string(string_t& value) override { return add(std::move(value)); }

  bool number_integer(number_integer_t value) override {
    return is_time() ? add_time(std::to_string(value)) : add(value);
  }
  bool number_unsigned(number_unsigned_t value) override {
    return is_time() ? add_time(std::to_string(value)) : add(value);
  }
  bool number_float(number_float_t value, const string_t& digits) override {
    return is_time() ? add_time(digits) : add(value);
  }

  bool key(string_t& value) override {
    if (open_.empty()) unit_key_ = value;
    key_ = std::move(value);
    return true;
  }

  bool start_object(size_t) override {
    if (where_ == Where::root) {
      where_ = Where::top;
      return true;
    }
    return open(Json::object());
  }

  bool start_array(size_t) override {
    const bool bare = where_ == Where::root;
    if (bare || (where_ == Where::top && open_.empty() && key_ == "traceEvents")) {
      bare_ = bare;
      where_ = Where::events;
      saw_events_ = true;
      return true;
    }
    return open(Json::array());
  }

  bool end_object() override { return open_.empty() || close(); }

  bool end_array() override {
    if (!open_.empty()) return close();
    where_ = bare_ ? Where::root : Where::top;
    return true;
  }

  bool parse_error(size_t position, const string_t&,
                   const nlohmann::json::exception& error) override {
    const size_t start = text_.find_first_not_of(" \t\r\n");
    if (start != text_.npos && text_[start] != '{' && text_[start] != '[') {
      fail("is not a trace (JSON expected)");
    }
    const auto end = text_.begin() + std::min(position, text_.size());
    const auto line = std::count(text_.begin(), end, '\n') + 1;
    std::string reason = error.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: <reason>"
    if (const size_t colon = reason.find(": "); colon != std::string::npos) {
      reason.erase(0, colon + 2);
    }
    fail(
        fmt::format("line {}, byte {}: {}. The file is damaged or cut off: record "
                    "it again",
                    line, position, reason));
  }

 private:
  enum class Where { root, top, events };

  bool is_time() const {
    return where_ == Where::events && open_.size() == 1 &&
           (key_ == "ts" || key_ == "dur");
  }

  bool add_time(const std::string& digits) {
    const auto time = parse_microseconds(digits);
    if (!time) fail(fmt::format("{} = {} is out of range", here(), digits));
    return add(*time);
  }

  bool add(Json value) {
    if (where_ == Where::root) fail("holds a single value. Is it a Chrome trace?");
    place(std::move(value));
    return !open_.empty() || finish();
  }

  bool open(Json container) {
    if (open_.size() >= kMaxNesting) {
      fail(fmt::format("{} is nested deeper than {} levels", here(), kMaxNesting));
    }
    open_.push_back(place(std::move(container)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return !open_.empty() || finish();
  }

  /// Puts a value where it belongs and says where it now is.
  Json* place(Json value) {
    if (open_.empty()) {
      unit_ = std::move(value);
      return &unit_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    if (parent.size() >= kMaxKeys) {
      fail(fmt::format("{} has more than {} keys", here(), kMaxKeys));
    }
    Json& slot = parent[key_];  // a repeated key: the last one counts
    slot = std::move(value);
    return &slot;
  }

  /// The unit is complete.
  bool finish() {
    if (where_ == Where::events) {
      finish_event();
    } else if (unit_key_ == "lockstep") {
      if (!unit_.is_object()) fail("`lockstep` must be an object");
      trace_.lockstep = std::move(unit_);
    } else if (unit_key_ == "traceEvents") {
      fail("`traceEvents` must be an array");
    } else if (trace_.other.size() < kMaxKeys) {
      trace_.other[unit_key_] = std::move(unit_);
    }
    return true;
  }

  void finish_event() {
    if (trace_.events.size() >= kMaxEvents) {
      fail(
          fmt::format("has more than {} events. Record fewer steps with "
                      "--trace-steps A:B",
                      kMaxEvents));
    }
    try {
      trace_.events.push_back(reader_.read(std::move(unit_)));
    } catch (const std::runtime_error& error) {
      fail(fmt::format("{}: {}", here(), error.what()));
    }
  }

  std::string here() const {
    if (where_ != Where::events) return fmt::format("`{}`", unit_key_);
    return fmt::format("traceEvents[{}]", trace_.events.size());
  }

  [[noreturn]] void fail(const std::string& reason) const {
    throw std::runtime_error(fmt::format("{}: {}", name_, reason));
  }

  const std::string& text_;
  const std::string& name_;
  Trace trace_;
  EventReader reader_;
  Where where_ = Where::root;
  bool bare_ = false, saw_events_ = false;
  Json unit_;
  std::string unit_key_, key_;
  std::vector<Json*> open_;
};

bool in_order(const Event& a, const Event& b) {
  if ((a.ph == 'M') != (b.ph == 'M')) return a.ph == 'M';
  if (a.ph == 'M') return false;
  return a.ts != b.ts ? a.ts < b.ts : a.dur > b.dur;
}

/// The flows from op to kernel repeat `args.op`; the writer generates them again.
/// Flows of other programs stay.
void drop_launch_flows(Trace& trace) {
  std::unordered_set<int64_t> launched;
  for (const Event& event : trace.events) {
    if (event.ph == 'X' && event.op != kNone) launched.insert(event.id);
  }
  std::erase_if(trace.events, [&](const Event& event) {
    const bool flow = event.ph == 's' || event.ph == 'f';
    return flow && event.is("launch") && launched.contains(event.id);
  });
}

}  // namespace

void sort_events(std::vector<Event>& events) {
  std::stable_sort(events.begin(), events.end(), in_order);
}

Trace parse_trace(const std::string& text, const std::string& name) {
  TraceBuilder builder(text, name);
  try {
    Json::sax_parse(text, &builder);
  } catch (const std::bad_alloc&) {
    throw std::runtime_error(name +
                             ": does not fit into this machine's memory. "
                             "Record fewer steps with --trace-steps A:B");
  }
  Trace trace = builder.take();
  drop_launch_flows(trace);
  trace.sorted_in_file =
      std::is_sorted(trace.events.begin(), trace.events.end(), in_order);
  if (!trace.sorted_in_file) sort_events(trace.events);
  return trace;
}

Trace read_trace(const std::string& path) {
  return parse_trace(read_whole_file(path), path);
}

}  // namespace lockstep::tracer
