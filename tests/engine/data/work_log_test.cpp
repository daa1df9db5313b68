// sanitize: thread
#include "engine/data/work_log.h"

#include <gtest/gtest.h>

#include <map>

#include "tracer/record/collect.h"
#include "tracer/record/recorder.h"

namespace lockstep::data {
namespace {

class WorkLogTest : public testing::Test {
 protected:
  WorkLogTest() {
    tracer::start_recording();
    tracer::set_step(3);
  }
  ~WorkLogTest() override {
    tracer::stop_recording();
    tracer::set_step(tracer::kNone);
    tracer::collect();
  }
  /// Returns the recorded events, except those of category `without`.
  static std::vector<tracer::Event> events(const char* without = "") {
    tracer::stop_recording();
    std::vector<tracer::Event> found;
    for (tracer::Event& event : tracer::collect()) {
      if (event.ph == 'X' && !event.is(without)) found.push_back(std::move(event));
    }
    return found;
  }
};

TEST_F(WorkLogTest, AWorkerHasALaneAndALateBatchIsWaitedFor) {
  WorkLog log(4);
  const int64_t begin = tracer::now_ns();
  log.add(
      {.worker = 1, .batch = 6, .samples = 4, .begin_ns = begin, .end_ns = begin + 10});
  log.add({.worker = 0,
           .batch = 7,
           .samples = 2,
           .begin_ns = begin,
           .end_ns = begin + 30,
           .indices = {31, 4}});
  {
    const tracer::HostEvent data("phase", "data");
    log.record(7, begin + 20);
    log.record(8, begin + 20);  // has no effect
  }

  const auto all = events("phase");
  ASSERT_EQ(all.size(), 3u);
  const tracer::Event *early = nullptr, *late = nullptr, *wait = nullptr;
  for (const auto& event : all) {
    EXPECT_EQ(event.step, 3);
    (event.is("sync") ? wait : event.args["batch"] == 6 ? early : late) = &event;
  }
  ASSERT_TRUE(early && late && wait);
  EXPECT_NE(early->tid, late->tid);
  EXPECT_EQ(early->dur, 10);
  EXPECT_EQ(early->args["samples"], 4);
  EXPECT_EQ(late->args.find("indices").integers(), (std::vector<int64_t>{31, 4}));
  EXPECT_EQ(wait->waits_for, std::vector<int64_t>{late->id});
  EXPECT_EQ(wait->ts, late->ts + 20);
  EXPECT_GE(wait->end(), late->end());
  EXPECT_EQ(wait->args["why"], "queue");
}

TEST_F(WorkLogTest, ABatchThatWasReadyIsTakenAtOnceButNotBeforeItsTime) {
  WorkLog log(4);
  const int64_t begin = tracer::now_ns();
  log.add({.batch = 1, .begin_ns = begin, .end_ns = begin + 10});
  {
    const tracer::HostEvent data("phase", "data");
    log.record(0, begin + 20);  // made before the trace started: not recorded
    log.record(1, tracer::now_ns());
  }
  const auto all = events("phase");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "_MapDatasetFetcher.fetch");
  EXPECT_FALSE(all[0].args.contains("after"));
  EXPECT_TRUE(all[1].is("sync"));
  EXPECT_EQ(all[1].waits_for, std::vector<int64_t>{all[0].id});
  EXPECT_GT(all[1].ts, all[0].end());
}

TEST_F(WorkLogTest, ABatchIsBegunAfterAnEarlierOneWasTaken) {
  tracer::HostEvent before("phase", "step");
  const int64_t last_step = before.id();
  before.close();
  WorkLog log(2);
  const int64_t begin = tracer::now_ns();
  int64_t data[3] = {};
  for (int64_t step = 0; step < 3; ++step) {
    const tracer::HostEvent phase("phase", "data");
    data[step] = phase.id();
    const int64_t made = begin + 10 * step;
    log.add({.batch = step, .begin_ns = made, .end_ns = made + 5});
    // Batch 2 makes room for batch 4, whose worker is faster than the calling thread.
    if (step == 2) log.add({.batch = 4, .begin_ns = made + 5, .end_ns = made + 9});
    log.record(step, tracer::now_ns());
  }
  std::map<int64_t, int64_t> after;
  for (const auto& event : events()) {
    if (event.is("call")) after[event.args["batch"]] = event.args["after"];
  }
  EXPECT_EQ(after, (std::map<int64_t, int64_t>{
                       {0, last_step}, {1, last_step}, {2, data[0]}, {4, data[2]}}));
}

TEST_F(WorkLogTest, OutsideAllEventsNothingWaits) {
  WorkLog log(2);
  const int64_t begin = tracer::now_ns();
  log.add({.batch = 0, .begin_ns = begin, .end_ns = begin + 10});
  log.record(0, begin);
  const auto all = events();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(all[0].is("call"));
}

TEST_F(WorkLogTest, WhatBeganBeforeTheTraceOrWhileItWasOffIsLeftOut) {
  WorkLog log(4);
  const int64_t origin = tracer::recording_origin();
  log.add({.begin_ns = origin - 1, .end_ns = origin + 5});
  log.record(0, origin);
  tracer::stop_recording();
  log.add({.begin_ns = origin, .end_ns = origin + 5});
  tracer::start_recording();
  log.record(0, origin);
  EXPECT_TRUE(events().empty());
}

}  // namespace
}  // namespace lockstep::data
