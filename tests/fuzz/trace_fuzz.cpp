// Any bytes as a trace file: reading gives a trace or one exception, and every analysis
// of that trace succeeds. Run for some time with
//   trace_fuzz -max_total_time=300 corpus tests/golden/damaged
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "tracer/analysis/call_tree.h"
#include "tracer/analysis/check.h"
#include "tracer/analysis/diff.h"
#include "tracer/analysis/summary.h"
#include "tracer/emulate/emulate.h"
#include "tracer/format/event_json.h"
#include "tracer/format/trace.h"
#include "tracer/kineto/kineto.h"

using namespace lockstep::tracer;  // NOLINT

namespace {

bool same_times(const Trace& a, const Trace& b) {
  for (size_t i = 0; i < a.events.size(); ++i) {
    if (a.events[i].ts != b.events[i].ts || a.events[i].dur != b.events[i].dur) {
      return false;
    }
  }
  return a.events.size() == b.events.size();
}

void ask_everything(const Trace& trace) {
  check_text(check_trace(trace));
  const Summary summary = summarize(trace);
  summary_text(summary);
  summary_json(summary).dump(-1, ' ', false, Json::error_handler_t::replace);
  call_tree_text(call_tree(trace, 0));
  diff_text(diff_traces(trace, trace), "a", "b");
  for (const Event& event : trace.events) event_line(event);
}

/// As a file of torch.profiler: it is rejected or gives an ordinary trace.
void import(const Trace& foreign) {
  try {
    const Trace trace = import_kineto(foreign);
    check_text(check_trace(trace));
    summary_text(summarize(trace));
    for (const Event& event : trace.events) event_line(event);
  } catch (const std::runtime_error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const Trace trace =
        parse_trace(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
    ask_everything(trace);
    import(trace);
    for (int64_t rank = 0; rank < 2; ++rank) kineto_events(trace, rank);
    if (!same_times(trace, emulate(trace, {.measured_durations = true}))) std::abort();
    ask_everything(emulate(trace));
  } catch (const std::runtime_error&) {
    // rejected with a one-line message
  }
  return 0;
}
