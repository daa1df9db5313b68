// The law that bounds staleness on parameter servers: a worker pulls its own updates.
// (tests/run/ps_test.cpp damages recorded traces for the other laws.)
#include <gtest/gtest.h>

#include "tracer/analysis/check.h"
#include "tracer/format/keys.h"

namespace lockstep::tracer {
namespace {

/// An update of the only server.
struct MadeUpdate {
  int64_t worker, read_version, version;
};

Trace with_updates(const std::vector<MadeUpdate>& updates) {
  Trace trace;
  trace.lockstep = {{"format", 1},
                    {"mode", "ps"},
                    {"devices", {{{"id", 0}}, {{"id", 1}}, {{"id", 2}}}}};
  int64_t id = 0;
  const auto add = [&](const char* name, int64_t dur, const Json& args) {
    Event event;
    event.ph = 'X';
    event.cat = categories::phase;
    event.name = name;
    event.step = 1;
    event.id = ++id;
    event.ts = 10 * id;
    event.dur = dur;
    event.args = Args(args);
    trace.events.push_back(event);
  };
  add(names::step, 1000, {{"kind", "train"}, {"servers", 1}, {"consistency", "async"}});
  for (const auto& [worker, read_version, version] : updates) {
    add(phases::optimizer, 5,
        {{"worker", worker},
         {"server", 0},
         {"read_version", read_version},
         {"version", version}});
  }
  return trace;
}

std::string message_of_law(const Trace& trace, const char* law) {
  for (const Finding& finding : check_trace(trace).findings) {
    if (finding.law == law && !finding.ok) return finding.message;
  }
  return "";
}

TEST(ServerLaws, AWorkerPullsItsOwnUpdates) {
  // Two equal workers: each gradient is one update old.
  const Trace right = with_updates({{0, 0, 1}, {1, 0, 2}, {0, 1, 3}, {1, 2, 4}});
  EXPECT_EQ(message_of_law(right, "own-updates-read"), "");
  EXPECT_EQ(message_of_law(right, "version-order"), "");
  // Worker 0's second gradient is for weights without its first update: two are stale,
  // and no pull or push contradicts it.
  const Trace wrong = with_updates({{0, 0, 1}, {1, 0, 2}, {0, 0, 3}, {1, 2, 4}});
  EXPECT_NE(message_of_law(wrong, "own-updates-read")
                .find("worker 0 pushes a gradient for version 0 of server 0, after it "
                      "made version 1"),
            std::string::npos);
  EXPECT_EQ(message_of_law(wrong, "version-order"), "");
}

}  // namespace
}  // namespace lockstep::tracer
