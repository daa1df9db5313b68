// Opens files of both kinds as our traces. A profiler's file that ends early (its
// program was killed while it wrote) is read as far as it goes.
#include <algorithm>
#include <stdexcept>

#include "tracer/format/file_io.h"
#include "tracer/format/partial.h"
#include "tracer/format/trace_file.h"
#include "tracer/format/watched.h"
#include "tracer/kineto/kineto.h"
#include "tracer/kineto/names.h"
#include "tracer/record/journal.h"

namespace lockstep::tracer {

namespace {

constexpr std::string_view kPh = "\"ph\"";  ///< every event has it once

/// Returns true if a trace without our header has events that only PyTorch's profiler
/// records. (A `kernel` is anybody's.)
bool is_profilers(const Trace& trace) {
  if (trace.lockstep.contains(top::format)) return false;
  return std::any_of(trace.events.begin(), trace.events.end(), [](const Event& event) {
    return event.ph == 'X' && !event.is(categories::kernel) &&
           !category_of_kineto(event.cat).empty();
  });
}

/// Returns the text up to its last whole event, with the brackets that are missing (a
/// whole text unchanged); "" unless the text is a trace that ends early.
std::string whole_events(std::string_view text) {
  using File = TraceFile<Grammar::tolerant>;
  const size_t first = text.find_first_of("{[");
  if (first == text.npos || text.find_first_not_of(" \t\r\n") != first) return "";
  File file(text.substr(first));
  const char* end = nullptr;
  while (file.next() != File::Found::end) {
    if (file.in_events()) end = file.scan().at();
  }
  if (file.scan().error() == nullptr) return std::string(text);  // only its gzip is cut
  const bool cut =
      file.scan().error() != nullptr && file.scan().at() >= text.data() + text.size();
  if (!cut || end == nullptr) return "";
  const std::string_view rest(end, text.data() + text.size() - end);
  const size_t event = rest.find(kPh);  // of one event only, or the damage is earlier
  if (event != rest.npos && rest.find(kPh, event + 1) != rest.npos) return "";
  std::string whole(text.data(), end);
  return whole + (file.is_bare() ? "]" : "]}");
}

/// Returns the trace of a profiler's text that ends early; throws `error` for any
/// other.
Trace parse_cut(std::string_view text, const std::string& path,
                const std::runtime_error& error) {
  std::string whole = whole_events(text);
  if (whole.empty()) throw error;
  Trace trace = parse_trace(std::move(whole), path);
  if (!is_profilers(trace)) throw error;
  trace = import_kineto(trace);
  trace.lockstep[top::imported]["cut"] = "the file ends early: the rest is missing";
  return trace;
}

Trace open_cut(const std::string& path, const std::runtime_error& error) {
  std::string text;
  try {
    text = read_whole_file(path, Ending::any);
  } catch (const std::runtime_error&) {
    throw error;
  }
  return parse_cut(text, path, error);
}

}  // namespace

std::string why_no_profile(const Trace& trace) {
  const bool lacks_kineto =
      std::any_of(trace.events.begin(), trace.events.end(), [](const Event& event) {
        return event.cat.empty() && event.name.starts_with("aten::");
      });
  if (!lacks_kineto) return "contains no events from PyTorch's profiler";
  return "has operators without categories: a PyTorch without Kineto, such as "
         "Debian's, wrote it; fix: `view` shows the file as it is; to import one, "
         "record with another PyTorch, or write it as lesson 27's `write_profile` does";
}

Trace open_text(const FileText& text, const std::string& name) {
  return open_text(text, name, Work());
}

Trace open_text(const FileText& text, const std::string& name, const Work& work) {
  Trace trace;
  try {
    trace = parse_trace(text, name, work);
  } catch (const std::runtime_error& error) {
    return parse_cut(text.text, name, error);
  }
  return is_profilers(trace) ? import_kineto(trace) : trace;
}

Trace open_trace(const std::string& path) {
  Trace trace;
  try {
    trace = parse_trace(open_trace_text(path, kMaxText), path);
  } catch (const NoCompleteStep&) {
    throw;
  } catch (const std::runtime_error& error) {
    return open_cut(path, error);
  }
  if (is_profilers(trace)) return import_kineto(trace);
  return trace;
}

}  // namespace lockstep::tracer
