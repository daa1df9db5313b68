#include "tracer/format/read_ahead.h"

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tracer/format/event_json.h"
#include "tracer/format/trace_file.h"

namespace lockstep::tracer {

namespace {

constexpr size_t kPart = size_t{4} << 20;

/// Returns the end of what is probably an event, after `at`: the position between
/// `}` and `,` where an object follows; nullptr if there is none.
const char* likely_end(const char* at, const char* end) {
  const std::string_view text(at, static_cast<size_t>(end - at));
  for (size_t comma = text.find("},"); comma != text.npos;
       comma = text.find("},", comma + 1)) {
    const size_t next = text.find_first_not_of(" \t\r\n", comma + 2);
    if (next != text.npos && text[next] == '{') return at + comma + 1;
  }
  return nullptr;
}

/// Reads the events after `begin` up to `limit`. The events of `spare` are overwritten.
EventPart read_part(const char* begin, const char* limit, const char* text_end,
                    std::vector<Event> spare) {
  using File = TraceFile<Grammar::strict>;
  EventPart part{begin, begin, std::move(spare)};
  part.events.clear();
  auto file = File::within_events({begin, static_cast<size_t>(text_end - begin)});
  EventReader reader;
  while (part.end < limit && file.next() == File::Found::event) {
    try {
      reader.read(file.fields(), part.events.emplace_back());
    } catch (const std::runtime_error&) {
      part.events.pop_back();
      break;
    }
    if (reader.has_numbered_texts()) {  // counted from the beginning of the file
      part.events.pop_back();
      break;
    }
    part.end = file.scan().at();
  }
  part.sorted = std::is_sorted(part.events.begin(), part.events.end(), comes_before);
  part.has_flows = std::any_of(
      part.events.begin(), part.events.end(),
      [](const Event& event) { return event.ph == 's' || event.ph == 'f'; });
  return part;
}

}  // namespace

ReadAhead::ReadAhead(std::string_view text, const char* from)
    : text_end_(text.data() + text.size()) {
  const size_t cores = std::thread::hardware_concurrency();
  if (cores < 2 || text_end_ - from < static_cast<ptrdiff_t>(2 * kPart)) return;
  at_once_ = cores + 1;  // so that no core idles while a part is taken over
  next_ = from;
  start_parts();
}

void ReadAhead::start_parts() {
  while (next_ != nullptr && parts_.size() < at_once_) {
    const char* const begin = next_;
    next_ = text_end_ - begin > static_cast<ptrdiff_t>(kPart)
                ? likely_end(begin + kPart, text_end_)
                : nullptr;
    const char* const limit = next_ != nullptr ? next_ : text_end_;
    // If no thread can be started, the part is read when it is asked for.
    parts_.emplace_back(begin, std::async(read_part, begin, limit, text_end_,
                                          std::move(current_.events)));
  }
}

EventPart* ReadAhead::part_at(const char* place) {
  while (!parts_.empty() && parts_.front().first <= place) {
    const bool fits = parts_.front().first == place;
    start_parts();  // in the memory of the part before
    current_ = parts_.front().second.get();
    parts_.pop_front();
    if (fits) return &current_;
  }
  return nullptr;
}

}  // namespace lockstep::tracer
