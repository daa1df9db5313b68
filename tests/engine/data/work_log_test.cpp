#include "engine/data/work_log.h"

#include <gtest/gtest.h>

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
  static std::vector<tracer::Event> events() {
    tracer::stop_recording();
    std::vector<tracer::Event> found;
    for (tracer::Event& event : tracer::collect()) {
      if (event.ph == 'X') found.push_back(std::move(event));
    }
    return found;
  }
};

TEST_F(WorkLogTest, AWorkerHasALaneAndALateBatchIsWaitedFor) {
  WorkLog log;
  const int64_t begin = tracer::now_ns();
  log.add(
      {.worker = 1, .batch = 6, .samples = 4, .begin_ns = begin, .end_ns = begin + 10});
  log.add(
      {.worker = 0, .batch = 7, .samples = 4, .begin_ns = begin, .end_ns = begin + 30});
  log.record(7, begin + 20);
  log.record(8, begin + 20);  // nothing new

  const auto all = events();
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
  EXPECT_EQ(wait->waits_for, std::vector<int64_t>{late->id});
  EXPECT_EQ(wait->ts, late->ts + 20);
  EXPECT_GE(wait->end(), late->end());
  EXPECT_EQ(wait->args["why"], "queue");
}

TEST_F(WorkLogTest, ABatchThatWasReadyIsNotWaitedFor) {
  WorkLog log;
  const int64_t begin = tracer::now_ns();
  log.add({.batch = 0, .begin_ns = begin, .end_ns = begin + 10});
  log.record(0, begin + 10);
  const auto all = events();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, "_MapDatasetFetcher.fetch");
}

TEST_F(WorkLogTest, WhatBeganBeforeTheTraceOrWhileItWasOffIsLeftOut) {
  WorkLog log;
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
