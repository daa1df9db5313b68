// Reads a trace for the analyses. The file is processed as a stream: each entry of
// `traceEvents` becomes an `Event` as soon as it is complete, and its arguments stay
// in the file's text. (The viewer uses the same TraceFile: gui/model/loader.cpp.)
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <stdexcept>

#include "base/memory.h"
#include "tracer/format/event_json.h"
#include "tracer/format/file_io.h"
#include "tracer/format/index.h"
#include "tracer/format/read_ahead.h"
#include "tracer/format/times.h"
#include "tracer/format/tokens.h"
#include "tracer/format/trace.h"
#include "tracer/format/trace_file.h"
#include "tracer/format/watched.h"

namespace lockstep::tracer {

namespace {

using File = TraceFile<Grammar::strict>;
using Found = File::Found;

constexpr size_t kMaxEvents = 20'000'000;

/// For a larger damaged file, only the end is parsed again to describe the error.
constexpr size_t kQuicklyParsed = size_t{64} << 20;

/// The error that nlohmann's parser reports for malformed text, and its position.
class Diagnosis : public nlohmann::json_sax<Json> {
 public:
  /// Parses `text`, which follows `before`. `reason` is empty if nothing is wrong.
  Diagnosis(const std::string& before, std::string_view text) {
    std::string whole = before;
    whole += text;
    Json::sax_parse(whole, this);
    position -= std::min(position, before.size());
  }

  std::string reason;
  size_t position = 0;  ///< in `text`

  bool parse_error(size_t at, const std::string&,
                   const nlohmann::json::exception& error) override {
    reason = error.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: <reason>"
    if (const size_t colon = reason.find(": "); colon != std::string::npos) {
      reason.erase(0, colon + 2);
    }
    position = at;
    return false;
  }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool key(string_t&) override { return true; }
  bool start_object(size_t) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
};

bool is_launch_flow(const Event& event) {
  return (event.ph == 's' || event.ph == 'f') && event.is(categories::launch);
}

/// The flows from op to kernel duplicate `args.op`; the writer regenerates them. Flows
/// from other programs are kept.
void drop_launch_flows(Trace& trace) {
  const std::vector<Event>& events = trace.events;
  if (std::none_of(events.begin(), events.end(), is_launch_flow)) return;
  const IdMap launched(
      events, [](const Event& event) { return event.ph == 'X' && event.op != kNone; });
  std::erase_if(trace.events, [&](const Event& event) {
    return is_launch_flow(event) && launched.contains(event.id);
  });
}

/// Builds the trace from the content of the file, or fails with a one-sentence reason.
class TraceBuilder {
 public:
  TraceBuilder(std::string_view text, const std::string& name, const Work* work)
      : text_(text), name_(name), work_(work) {}

  Trace read() {
    open();
    for (Found found = file_.next(); found != Found::end; found = file_.next()) {
      if (work_ != nullptr) work_->check();
      if (found == Found::event) {
        take_event();
        take_parts();
      }
      if (found == Found::member) take_member();
    }
    close();
    put_in_order();
    trace_.lane_texts = reader_.numbered_texts();
    return std::move(trace_);
  }

 private:
  void open() {
    std::string_view inside = text_;
    if (inside.starts_with("\xEF\xBB\xBF")) inside.remove_prefix(3);
    StrictScanner scan(inside);
    const char first = scan.peek();
    if (first != '{' && first != '[') {
      if (scan.value(); scan.error() != nullptr) fail_damaged("", text_);
      fail("is a single JSON value; fix: name a Chrome trace");
    }
    file_ = File(inside);
  }

  void close() {
    if (const char* error = file_.scan().error()) fail_reading(error);
    const size_t end = text_.find_first_not_of(" \t\r\n", place_of(file_.scan().at()));
    if (end != text_.npos && text_[end] != '\0') fail_damaged("[]", text_.substr(end));
    if (!file_.has_events()) fail("has no `traceEvents`; fix: name a Chrome trace");
  }

  void put_in_order() {
    std::vector<Event>& events = trace_.events;
    if (has_flows_) {
      drop_launch_flows(trace_);
      trace_.sorted_in_file =
          std::is_sorted(events.begin(), events.end(), comes_before);
    }
    if (!trace_.sorted_in_file) sort_events(events);
  }

  void take_event() {
    std::vector<Event>& events = trace_.events;
    if (events.size() >= kMaxEvents) {
      fail(fmt::format(
          "has more than {} events; fix: record fewer steps with --trace-steps A:B",
          kMaxEvents));
    }
    reserve(events.size() + 1);
    try {
      reader_.read(file_.fields(), events.emplace_back());
    } catch (const OutOfRange& time) {
      events.pop_back();
      fail(fmt::format("{} = {} is out of range", here(), time.what()));
    } catch (const std::runtime_error& error) {
      events.pop_back();
      fail(fmt::format("{}: {}", here(), error.what()));
    }
    const Event& event = events.back();
    has_flows_ |= event.ph == 's' || event.ph == 'f';
    if (events.size() > 1) check_order(events[events.size() - 2], event);
  }

  void check_order(const Event& event, const Event& next) {
    trace_.sorted_in_file &= !comes_before(next, event);
  }

  /// Takes over what was read ahead, beginning after the event that was just read.
  void take_parts() {
    std::vector<Event>& events = trace_.events;
    if (events.size() == 1) ahead_ = ReadAhead(text_, file_.scan().at());
    while (EventPart* part = ahead_.part_at(file_.scan().at())) {
      if (work_ != nullptr) work_->check();
      const size_t count = events.size() + part->events.size();
      if (part->events.empty() || count > kMaxEvents) return;
      file_.skip_to(part->end);
      reserve(count);
      check_order(events.back(), part->events.front());
      trace_.sorted_in_file &= part->sorted;
      has_flows_ |= part->has_flows;
      std::move(part->events.begin(), part->events.end(), std::back_inserter(events));
    }
  }

  /// Makes room for `count` events, which were read up to this point, and for as many
  /// more as the rest of the text suggests, instead of doubling the capacity.
  void reserve(size_t count) {
    if (count <= trace_.events.capacity()) return;
    size_t expected = 2 * count + 64;
    if (count > 5'000) {
      const double share = static_cast<double>(text_.size()) /
                           static_cast<double>(place_of(file_.scan().at()));
      expected = static_cast<size_t>(static_cast<double>(count) * share * 1.02) + 1'000;
    }
    reserve_huge(trace_.events, std::min(std::max(expected, count), kMaxEvents));
  }

  void take_member() {
    const std::string key = shown(file_.key());
    if (key == top::events) fail("`traceEvents` must be an array");
    Json value = Json::parse(file_.value());
    if (key == top::lockstep) {
      if (!value.is_object()) fail("`lockstep` must be an object");
      trace_.lockstep = std::move(value);
    } else if (trace_.other.size() < StrictScanner::kMaxKeys) {
      trace_.other[key] = std::move(value);
    }
  }

  [[noreturn]] void fail_reading(std::string_view error) const {
    if (error == StrictScanner::kTooDeep) {
      fail(fmt::format("{} is nested deeper than {} levels", here(),
                       StrictScanner::kMaxDepth));
    }
    if (error == StrictScanner::kTooManyKeys) {
      fail(fmt::format("{} has more than {} keys", here(), StrictScanner::kMaxKeys));
    }
    if (text_.size() <= kQuicklyParsed) fail_damaged("", text_);
    const bool first = file_.unit_is_first();
    const std::string before =
        file_.in_events() ? (first ? "[" : "[\"\"") : (first ? "{" : "{\"\":\"\"");
    fail_damaged(before, text_.substr(place_of(file_.unit())));
  }

  [[noreturn]] void fail_damaged(const std::string& before,
                                 std::string_view rest) const {
    const size_t start = text_.find_first_not_of(" \t\r\n");
    if (start != text_.npos && text_[start] != '{' && text_[start] != '[') {
      fail("is not a trace (JSON expected)");
    }
    const Diagnosis diagnosis(before, rest);
    const size_t position = place_of(rest.data()) + diagnosis.position;
    const auto end = text_.begin() + std::min(position, text_.size());
    const auto line = std::count(text_.begin(), end, '\n') + 1;
    fail(
        fmt::format("line {}, byte {}: {}, so the file is damaged or truncated; fix: "
                    "record it again",
                    line, position, diagnosis.reason));
  }

  size_t place_of(const char* at) const {
    return static_cast<size_t>(at - text_.data());
  }

  std::string here() const {
    if (!file_.in_events()) return fmt::format("`{}`", shown(file_.key()));
    return fmt::format("traceEvents[{}]", trace_.events.size());
  }

  [[noreturn]] void fail(const std::string& reason) const {
    throw std::runtime_error(fmt::format("{}: {}", name_, reason));
  }

  const std::string_view text_;
  const std::string& name_;
  const Work* const work_;  ///< may be nullptr
  File file_;
  Trace trace_;
  bool has_flows_ = false;
  EventReader reader_;
  ReadAhead ahead_;
};

Trace parse(const FileText& file, const std::string& name, const Work* work = nullptr) {
  Trace trace;
  try {
    trace = TraceBuilder(file.text, name, work).read();
  } catch (const std::bad_alloc&) {
    throw std::runtime_error(name +
                             ": does not fit into this machine's memory; fix: record "
                             "fewer steps with --trace-steps A:B");
  }
  trace.texts.push_back(file.owner);
  return trace;
}

}  // namespace

void sort_events(std::vector<Event>& events) {
  if (std::is_sorted(events.begin(), events.end(), comes_before)) return;
  std::stable_sort(events.begin(), events.end(), comes_before);
}

Trace parse_trace(std::string text, const std::string& name) {
  const auto owner = std::make_shared<const std::string>(std::move(text));
  return parse({*owner, owner}, name);
}

Trace parse_trace(const FileText& text, const std::string& name) {
  return parse(text, name);
}

Trace parse_trace(const FileText& text, const std::string& name, const Work& work) {
  return parse(text, name, &work);
}

Trace read_trace(const std::string& path) {
  return parse(open_file_text(path, kMaxText), path);
}

}  // namespace lockstep::tracer
