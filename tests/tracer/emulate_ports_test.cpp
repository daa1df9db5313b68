// The emulator's ports, on a trace in which a device sends to three others:
//
//   Broadcast
//     first@device 1
//     first@device 2
//     first@device 3
//     second@device 1
//     second@device 2
//     second@device 3
//     answer@device 0
//     another answer@device 0
#include <fmt/format.h>

#include "tests/tracer/emulated.h"
#include "tracer/analysis/check.h"

namespace lockstep::tracer {
namespace {

using namespace testing;  // NOLINT

/// Device 0 sends two pieces of a model to each of three others. After receiving both,
/// device 1 sends an answer of twice the size, and device 2 sends another one into a
/// different stream of device 0.
Trace replicates() {
  std::string events = R"([
    {"ph":"X","cat":"op","name":"Broadcast","tid":0,"ts":0,"dur":1,"args":{"id":1}})";
  const auto copy = [&](const char* name, int id, int src, int dst, double ts,
                        const char* deps, int bytes = 1000, int stream = 1) {
    events += fmt::format(
        R"(,{{"ph":"X","cat":"copy","name":"{}","pid":{},"tid":{},"ts":{},"dur":5,)"
        R"("args":{{"id":{},"op":1,"deps":[{}],"src":{},"dst":{},"device":{},)"
        R"("bytes":{}}}}})",
        name, dst + 1, stream, ts, id, deps, src, dst, dst, bytes);
  };
  for (int piece = 0; piece < 2; ++piece) {
    for (int dst = 1; dst <= 3; ++dst) {
      copy(piece == 0 ? "first" : "second", 10 * dst + piece, 0, dst, 1.0 + 6 * piece,
           "");
    }
  }
  copy("answer", 40, 1, 0, 20, "11", 2000);
  copy("another answer", 41, 2, 0, 21, "21", 2000, 2);
  return parse_trace(events + "]", "by hand");
}

std::string objection_of(const Trace& trace, std::string_view law) {
  for (const Finding& finding : check_trace(trace).findings) {
    if (finding.law == law && !finding.ok) return finding.message;
  }
  return {};
}

// 1000 B at 1 GB/s take 1 µs. In the recording, all receivers got their pieces at once.
// Device 0 has one outgoing port, so the emulator serializes its six copies. Its
// incoming port is separate: the answer starts when device 1 has its second piece, at
// 4. Device 2 has its second piece at 5, but the port into device 0 is busy until 6.
TEST(EmulatedPorts, ADeviceSendsOneCopyAtATime) {
  expect_header_shows("tests/tracer/emulate_ports_test.cpp", NamedTrace(replicates()));
  const Emulated step(replicates(), {.link = {.gb_per_s = 1, .latency_us = 0}});
  EXPECT_EQ(step.begin("first@device 1"), 0);
  EXPECT_EQ(step.begin("first@device 2"), 1000);
  EXPECT_EQ(step.begin("first@device 3"), 2000);
  EXPECT_EQ(step.begin("second@device 1"), 3000);
  EXPECT_EQ(step.begin("second@device 3"), 5000);
  EXPECT_EQ(step.begin("answer@device 0"), 4000) << "a port per direction";
  EXPECT_EQ(step.begin("another answer@device 0"), 6000) << "one copy at a time";
  EXPECT_EQ(step["another answer@device 0"].args["port_held_by"], 40);
  EXPECT_EQ(step["first@device 2"].args["port_held_by"], 10);
  EXPECT_FALSE(step["first@device 1"].args.contains("port_held_by"));
  EXPECT_EQ(objection_of(step.trace, "ports"), "");
  // Doubling the bandwidth halves the time, also for an emulated trace.
  const Trace again = emulate(step.trace, {.link = {.gb_per_s = 2, .latency_us = 0}});
  const Emulated faster(replicates(), {.link = {.gb_per_s = 2, .latency_us = 0}});
  EXPECT_EQ(faster.begin("second@device 3"), 2500);
  EXPECT_EQ(check_text(check_trace(again)), check_text(check_trace(faster.trace)));
  for (size_t i = 0; i < again.events.size(); ++i) {
    EXPECT_EQ(again.events[i].ts, faster.trace.events[i].ts);
    EXPECT_EQ(again.events[i].args, faster.trace.events[i].args);
  }
}

TEST(EmulatedPorts, CheckRejectsAPortThatReceivesTwoCopiesAtOnce) {
  Trace trace = emulate(replicates(), {.link = {.gb_per_s = 1, .latency_us = 0}});
  for (Event& event : trace.events) {
    if (event.id == 41) event.ts = 5500;
  }
  EXPECT_EQ(
      objection_of(trace, "ports"),
      "copy `another answer` starts at 5.500 µs, while device 0 is still receiving "
      "copy `answer` #40");
}

TEST(EmulatedPorts, CheckRejectsAPortThatSendsTwoCopiesAtOnce) {
  Trace trace = emulate(replicates(), {.link = {.gb_per_s = 1, .latency_us = 0}});
  for (Event& event : trace.events) {
    if (event.id == 20) event.ts = 500;  // first@device 2
  }
  EXPECT_EQ(objection_of(trace, "ports"),
            "copy `first` starts at 0.500 µs, while device 0 is still sending copy "
            "`first` #10");
}

}  // namespace
}  // namespace lockstep::tracer
