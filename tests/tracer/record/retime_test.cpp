// Events move to the times of their device activities and keep their order.
// sanitize: thread
#include "tracer/record/collect.h"

#include <gtest/gtest.h>

namespace lockstep::tracer {
namespace {

/// A kernel on a lane of device 0 (pid 1), with times from the marks around it.
Event task(int64_t id, int64_t ts, int64_t dur, double queued_us = 0,
           const char* cat = "kernel", int64_t lane = 0) {
  Event event;
  event.cat = event.name = cat;
  event.pid = 1;
  event.tid = lane;
  event.id = id;
  event.ts = ts;
  event.dur = dur;
  event.args["queued_us"] = queued_us;
  event.args["cpu_us"] = static_cast<double>(dur) / 1e3;
  return event;
}

void expect_at(const Event& event, int64_t begin, int64_t end) {
  EXPECT_EQ(event.ts, begin) << "#" << event.id;
  EXPECT_EQ(event.end(), end) << "#" << event.id;
}

TEST(RetimeEvents, AnEventGoesWhereItsKernelWas) {
  std::vector<Event> events{task(1, 1000, 500), task(2, 2000, 500)};
  retime_events(events, {{1, 1100, 1300}});
  expect_at(events[0], 1100, 1300);
  EXPECT_EQ(events[0].args["cpu_us"], 0.2);
  EXPECT_EQ(events[0].args["activities"], 1);
  expect_at(events[1], 2000, 2500);  // has no activity
  EXPECT_FALSE(events[1].args.contains("activities"));
}

TEST(RetimeEvents, SeveralKernelsOfOneOpInAnyOrder) {
  std::vector<Event> events{task(1, 1000, 500)};
  retime_events(events, {{1, 1300, 1400}, {1, 1100, 1200}, {1, 1150, 1210}});
  expect_at(events[0], 1100, 1400);
  EXPECT_EQ(events[0].args["cpu_us"], 0.21);  // busy: 110 and 100 ns
  EXPECT_EQ(events[0].args["activities"], 3);
}

TEST(RetimeEvents, NamesEachKernelOnceInTheOrderOfTheirStarts) {
  std::vector<Event> events{task(1, 1000, 500)};
  retime_events(events, {{1, 1300, 1400, "finish"},
                         {1, 1100, 1200, "sum"},
                         {1, 1210, 1220},  // a copy
                         {1, 1250, 1260, "sum"}});
  EXPECT_EQ(events[0].args["activities"], 4);
  EXPECT_EQ(events[0].args["kernels"], (Json{"sum", "finish"}));
}

TEST(RetimeEvents, WorkOfAnEventThatIsNotThereComesTooLate) {
  std::vector<Event> events{task(1, 1000, 500)};
  retime_events(events, {{99, 1100, 1300}});
  expect_at(events[0], 1000, 1500);
}

TEST(RetimeEvents, AStreamKeepsItsOrderWhereClocksDiffer) {
  std::vector<Event> events{task(1, 1000, 500), task(2, 1500, 500)};
  retime_events(events, {{1, 1010, 1490}, {2, 1480, 1900}});  // 10 ns too early
  expect_at(events[0], 1010, 1490);
  expect_at(events[1], 1490, 1900);
}

TEST(RetimeEvents, NothingRunsBeforeWhatItWaitedFor) {
  std::vector<Event> events{task(1, 1000, 500), task(2, 1500, 300, 0, "copy", 1)};
  events[1].deps = {1};
  retime_events(events, {{1, 1100, 1450}, {2, 1400, 1700}});
  expect_at(events[1], 1450, 1700);
}

TEST(RetimeEvents, NothingRunsBeforeItsOpOrBeforeItWasEnqueued) {
  Event op;
  op.cat = "op";
  op.id = 7;
  op.ts = 900;
  std::vector<Event> events{op, task(1, 1000, 500, 0.05)};  // enqueued at 950
  events[1].op = 7;
  retime_events(events, {{1, 880, 1300}});
  expect_at(events[1], 950, 1300);
  EXPECT_EQ(events[1].args["queued_us"], 0.0);
}

TEST(RetimeEvents, QueuedCountsFromThePredecessorsTrueEnd) {
  std::vector<Event> events{task(1, 1000, 500), task(2, 1600, 400, 0.1)};
  retime_events(events, {{1, 1100, 1400}, {2, 1650, 1900}});
  EXPECT_EQ(events[1].args["queued_us"], 0.25);
}

TEST(RetimeEvents, QueuedCountsFromTheEnqueuingIfThatWasLast) {
  std::vector<Event> events{task(1, 1000, 500), task(2, 1600, 400, 0.02)};
  retime_events(events, {{1, 1100, 1400}, {2, 1650, 1900}});
  EXPECT_EQ(events[1].args["queued_us"], 0.07);  // enqueued at 1580
}

TEST(RetimeEvents, AHostsWaitEndsAfterAllThatItWaitedFor) {
  Event sync;
  sync.cat = "sync";
  sync.id = 9;
  sync.ts = 900;
  sync.dur = 1150;
  sync.waits_for = {2};
  std::vector<Event> events{sync, task(1, 1000, 500), task(2, 1500, 500)};
  retime_events(events,
                {{1, 1100, 2100}, {2, 2100, 2200}});  // the device clock is off by 150
  expect_at(events[1], 1100, 2050);
  expect_at(events[2], 2050, 2050);
}

Event message(int64_t id, int64_t ts, int64_t dur) {
  return task(id, ts, dur, 0, "copy", 2);
}

TEST(RetimeEvents, ModelledMessagesMoveWithTheirCollective) {
  std::vector<Event> events{task(1, 1000, 1000, 0, "collective", 2),
                            message(2, 1000, 500), message(3, 1500, 500)};
  events[1].args["modelled"] = events[2].args["modelled"] = true;
  retime_events(events, {{1, 1200, 1400}});
  expect_at(events[0], 1200, 1400);
  expect_at(events[1], 1200, 1300);
  expect_at(events[2], 1300, 1400);
}

TEST(RetimeEvents, ACollectiveStaysWithTheMessagesThatWereSeen) {
  std::vector<Event> events{task(1, 1000, 1000, 0, "collective", 2),
                            message(2, 1100, 500)};
  retime_events(events, {{1, 1200, 1400}});
  expect_at(events[0], 1000, 2000);
  expect_at(events[1], 1100, 1600);
}

/// Through main memory, a collective's own work on the device is only a copy of what
/// has already arrived.
TEST(RetimeEvents, ACollectiveStaysWithTheMessagesThatWereReceivedByTheHost) {
  std::vector<Event> events{task(1, 1000, 1000, 0, "collective", 2),
                            task(2, 1100, 500, 0, "recv", 2)};
  retime_events(events, {{1, 1700, 1800}});
  expect_at(events[0], 1000, 2000);
  expect_at(events[1], 1100, 1600);
}

}  // namespace
}  // namespace lockstep::tracer
