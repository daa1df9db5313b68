// Writes a trace: one event per line, in order, without building a tree of it.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "tracer/format/event_json.h"
#include "tracer/format/index.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer {

namespace {

/// Flows from each op to the kernels and copies it enqueued; viewers draw arrows.
std::vector<Event> launch_flows(const Trace& trace) {
  const Index index(trace);
  std::vector<Event> flows;
  const auto add = [&](char ph, int64_t id, const Event& at) {
    Event flow;
    flow.ph = ph;
    flow.cat = flow.name = categories::launch;
    flow.id = id;
    flow.pid = at.pid, flow.tid = at.tid, flow.ts = at.ts;
    flows.push_back(std::move(flow));
  };
  for (const Event& event : trace.events) {
    if (event.ph != 'X' || event.op == kNone || event.id == kNone) continue;
    const Event* op = index.find(event.op);
    if (!op) continue;
    add('s', event.id, *op);
    add('f', event.id, event);
  }
  sort_events(flows);
  return flows;
}

/// A text in memory that is written like a file.
struct TextSink {
  std::string text;
  void write(std::string_view piece) { text += piece; }
};

/// Writes events as JSON, one event per line.
template <typename Sink>
class EventLines {
 public:
  explicit EventLines(Sink& file) : file_(file) {}

  void add(const Event& event) {
    line_.assign(first_ ? "\n" : ",\n");
    writer_.append(event, line_);
    file_.write(line_);
    first_ = false;
  }

 private:
  Sink& file_;
  EventWriter writer_;
  std::string line_;
  bool first_ = true;
};

template <typename Sink>
void write_events(const Trace& trace, Sink& file) {
  const std::vector<Event> flows = launch_flows(trace);
  auto flow = flows.begin();
  EventLines<Sink> lines(file);
  for (const Event& event : trace.events) {
    while (flow != flows.end() && event.ph != 'M' && flow->ts < event.ts) {
      lines.add(*flow++);
    }
    lines.add(event);
  }
  while (flow != flows.end()) lines.add(*flow++);
}

std::string indented(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

template <typename Sink>
void write_to(const Trace& trace, Sink& file) {
  file.write("{\n");
  if (!trace.other.contains(top::time_unit)) {
    file.write("\"displayTimeUnit\": \"ms\",\n");
  }
  for (const auto& [key, value] : trace.other.items()) {
    file.write(fmt::format("{}: {},\n", indented(key), indented(value)));
  }
  if (!trace.lockstep.empty()) {
    file.write(fmt::format("\"lockstep\": {},\n", indented(trace.lockstep)));
  }
  file.write("\"traceEvents\": [");
  write_events(trace, file);
  file.write("\n]}\n");
}

}  // namespace

void write_trace(const Trace& trace, const std::string& path) {
  AtomicFile file(path);
  write_to(trace, file);
  file.commit();
}

std::string trace_text(const Trace& trace) {
  TextSink sink;
  write_to(trace, sink);
  return std::move(sink.text);
}

}  // namespace lockstep::tracer
