// Profiler records are combined correctly regardless of their order.
#include "engine/backends/cuda/activity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

namespace lockstep::cuda {
namespace {

using Told = std::vector<std::tuple<int64_t, int64_t, int64_t>>;

Told take(ActivityRecords& records) {
  Told told;
  for (const auto& work : records.take()) {
    told.emplace_back(work.event, work.begin, work.end);
  }
  std::sort(told.begin(), told.end());
  return told;
}

TEST(ActivityRecords, AKernelBelongsToTheEventOfItsCall) {
  ActivityRecords records;
  records.link(1, 70);
  records.link(2, 71);
  records.work(1, 100, 110);
  records.work(2, 120, 125);
  EXPECT_EQ(take(records), (Told{{70, 100, 110}, {71, 120, 125}}));
  EXPECT_EQ(take(records), Told{});
}

TEST(ActivityRecords, OutOfOrder) {
  ActivityRecords records;
  records.work(2, 120, 125);
  records.link(1, 70);
  records.work(1, 100, 110);
  records.link(2, 71);
  EXPECT_EQ(take(records), (Told{{70, 100, 110}, {71, 120, 125}}));
}

TEST(ActivityRecords, AnOpWithSeveralKernels) {
  ActivityRecords records;
  for (const uint32_t call : {1, 2, 3}) records.link(call, 70);
  records.work(3, 130, 140);
  records.work(1, 100, 110);
  records.work(2, 112, 120);
  EXPECT_EQ(take(records), (Told{{70, 100, 110}, {70, 112, 120}, {70, 130, 140}}));
}

TEST(ActivityRecords, WhatLacksItsHalfWaitsOnce) {
  ActivityRecords records;
  records.work(1, 100, 110);  // its link arrives with the next buffer
  records.link(2, 71);        // its kernel arrives with the next buffer
  records.work(9, 1, 2);      // not launched for any event
  EXPECT_EQ(take(records), Told{});
  records.link(1, 70);
  records.work(2, 120, 125);
  EXPECT_EQ(take(records), (Told{{70, 100, 110}, {71, 120, 125}}));
  records.link(9, 90);  // too late: correlation ids may be reused
  EXPECT_EQ(take(records), Told{});
}

TEST(ActivityRecords, OfAnEventAllOrNothing) {
  ActivityRecords records;
  records.link(1, 70);
  records.link(2, 70);
  records.link(3, 71);
  records.work(1, 100, 110);
  records.work(2, 0, 0);  // CUPTI had no memory for its timestamps
  records.work(3, 120, 125);
  EXPECT_EQ(take(records), (Told{{71, 120, 125}}));
}

TEST(ClockMap, TheTightestSampleCounts) {
  ClockMap map;
  map.add(
      {{0, 1'000'500, 2'000}, {3'000, 1'003'050, 3'100}, {4'000, 1'004'700, 5'000}});
  EXPECT_EQ(map.ours(1'003'050), 3'050);
  EXPECT_EQ(map.ours(1'003'050 - 40), 3'010);
  EXPECT_EQ(map.ours(1'003'050 + 7'000), 10'050);
}

TEST(ClockMap, BetweenTwoMomentsInProportion) {
  ClockMap map;
  map.add({{1'000, 50'000, 1'000}});
  map.add({{2'000, 52'000, 2'000}});  // the profiler's clock runs twice as fast
  EXPECT_EQ(map.ours(51'000), 1'500);
  EXPECT_EQ(map.ours(50'000), 1'000);
  EXPECT_EQ(map.ours(52'000), 2'000);
  EXPECT_EQ(map.ours(52'100), 2'100);
}

}  // namespace
}  // namespace lockstep::cuda
