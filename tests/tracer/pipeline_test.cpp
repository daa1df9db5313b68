// The grid of a pipeline and the causes of its idle slots: counted by hand on golden
// schedules (P = 4 devices, M = 8 micro-batches, F = 1, B = 2 where nothing else is
// said; see engine/plan), and without remainder on random ones.
#include "tracer/analysis/pipeline.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/tracer/made_pipeline.h"
#include "tracer/analysis/bubble.h"

namespace lockstep::tracer {
namespace {

using plan::pipeline_schedule;
using plan::PipelineOrder;
using testing::grid_of;
using testing::made_pipeline;
using testing::MadePipeline;
using testing::one_and_two;
using testing::two_stages;
using enum Slot;

constexpr int64_t kUnit = 1000;

SlotTimes in_units(std::initializer_list<std::pair<Slot, double>> list) {
  SlotTimes times;
  for (const auto& [slot, count] : list) {
    times[slot] = static_cast<int64_t>(count * kUnit);
  }
  return times;
}

/// Checks that the pieces of each device cover the grid once, and that times add up.
void expect_whole(const Pipeline& grid, const std::string& what) {
  int64_t passes = 0;
  for (const PipelineDevice& device : grid.devices) {
    int64_t at = grid.begin;
    SlotTimes times;
    for (const PipelinePiece& piece : device.pieces) {
      ASSERT_EQ(piece.begin, at) << what;
      ASSERT_GT(piece.end, piece.begin) << what;
      times[piece.slot] += piece.end - piece.begin;
      at = piece.end;
    }
    ASSERT_EQ(at, grid.end) << what;
    EXPECT_EQ(times.times, device.times.times) << what;
    EXPECT_EQ(device.times.sum(), grid.length()) << what;
    for (const uint32_t i : device.passes) passes += grid.passes[i].running;
  }
  EXPECT_EQ(grid.times.sum(), static_cast<int64_t>(grid.devices.size()) * grid.length())
      << what;
  EXPECT_EQ(grid.times[pass], passes) << what;
}

/// Device 0 fills for 0, 1, 2, 3 units of forward and waits 3 x 3, 2 x 3, … in all.
TEST(PipelineGrid, EqualStagesOnlyFillAndDrain) {
  for (const PipelineOrder order : {PipelineOrder::gpipe, PipelineOrder::one_f_one_b,
                                    PipelineOrder::eager_one_f_one_b}) {
    const auto grid =
        grid_of(made_pipeline(pipeline_schedule(order, 4, 8), one_and_two(4)));
    ASSERT_NE(grid, nullptr);
    expect_whole(*grid, "equal");
    EXPECT_EQ(grid->length(), 33 * kUnit);
    EXPECT_EQ(grid->times[pass], 4 * 24 * kUnit);
    EXPECT_EQ(grid->times[fill] + grid->times[drain], 4 * 9 * kUnit);
    EXPECT_EQ(grid->times.idle(), 4 * 9 * kUnit);
    EXPECT_NEAR(grid->bubble(), 3.0 / 11, 1e-12);
    EXPECT_NEAR(grid->ideal.value(), 3.0 / 11, 1e-12);
  }
}

TEST(PipelineGrid, OneFOneBByDevice) {
  const auto grid = grid_of(made_pipeline(
      pipeline_schedule(PipelineOrder::one_f_one_b, 4, 8), one_and_two(4)));
  ASSERT_EQ(grid->devices.size(), 4u);
  // Waits for the first forward pass and, after P − r forward passes, the first
  // backward pass; after the last forward pass, for backward passes, then for the end.
  EXPECT_EQ(grid->devices[0].times.times,
            in_units({{pass, 24}, {fill, 0 + 6}, {drain, 3}}).times);
  EXPECT_EQ(grid->devices[1].times.times,
            in_units({{pass, 24}, {fill, 1 + 4}, {drain, 2 + 2}}).times);
  EXPECT_EQ(grid->devices[2].times.times,
            in_units({{pass, 24}, {fill, 2 + 2}, {drain, 1 + 4}}).times);
  EXPECT_EQ(grid->devices[3].times.times,
            in_units({{pass, 24}, {fill, 3}, {drain, 6}}).times);
}

TEST(PipelineGrid, CountsLiveMicroBatches) {
  const auto live = [](PipelineOrder order, int stages) {
    const auto grid = grid_of(
        made_pipeline(pipeline_schedule(order, 4, 8, stages), one_and_two(4 * stages)));
    std::vector<int> most;
    for (const PipelineStage& stage : grid->stages) {
      most.push_back(stage.most_live);
      EXPECT_EQ(stage.live.back().second, 0);
    }
    return most;
  };
  EXPECT_EQ(live(PipelineOrder::one_f_one_b, 1), (std::vector<int>{4, 3, 2, 1}));
  EXPECT_EQ(live(PipelineOrder::gpipe, 1), (std::vector<int>{8, 8, 8, 8}));
  EXPECT_EQ(live(PipelineOrder::eager_one_f_one_b, 1), (std::vector<int>{7, 5, 3, 1}));
  const std::vector<int> most = live(PipelineOrder::interleaved, 2);
  ASSERT_EQ(most.size(), 8u);
  for (const int count : most) EXPECT_LE(count, 8);
}

TEST(PipelineGrid, BytesOfActivationsAreThoseOfTheCounters) {
  const auto schedule = pipeline_schedule(PipelineOrder::one_f_one_b, 4, 8);
  const auto grid = grid_of(made_pipeline(schedule, one_and_two(4)));
  EXPECT_EQ(grid->devices[0].activations, 4'000'000);
  EXPECT_EQ(grid->devices[3].activations, 1'000'000);
  MadePipeline silent;
  silent.with_bytes = false;
  EXPECT_EQ(
      grid_of(made_pipeline(schedule, one_and_two(4), silent))->devices[0].activations,
      kNone);
}

TEST(PipelineGrid, InterleavedStages) {
  plan::PipelineCosts costs{std::vector<double>(8, 1), std::vector<double>(8, 1)};
  const auto grid = grid_of(
      made_pipeline(pipeline_schedule(PipelineOrder::interleaved, 4, 8, 2), costs));
  expect_whole(*grid, "interleaved");
  EXPECT_EQ(grid->length(), 38 * kUnit);
  EXPECT_EQ(grid->times.idle(), 4 * 6 * kUnit);
  EXPECT_EQ(grid->times[uneven], 0);
  EXPECT_NEAR(grid->ideal.value(), bubble_formula(4, 8, 8), 1e-12);
  EXPECT_EQ(grid->devices[1].stages, (std::vector<int>{1, 5}));
}

// Each of 2 (P − 1) hops is waited for once by GPipe; by 1F1B once per round trip.
TEST(PipelineGrid, LinksHaveTheirPrice) {
  for (const auto& [order, length] :
       {std::pair(PipelineOrder::gpipe, 34.5),
        std::pair(PipelineOrder::one_f_one_b, 37.0),
        std::pair(PipelineOrder::eager_one_f_one_b, 34.5)}) {
    const auto grid =
        grid_of(made_pipeline(pipeline_schedule(order, 4, 8), one_and_two(4, 0.25)));
    expect_whole(*grid, "links");
    EXPECT_EQ(grid->length(), static_cast<int64_t>(length * kUnit));
    EXPECT_LE(grid->times[fill] + grid->times[drain], 36 * kUnit);
    EXPECT_GE(grid->times[link], 4 * 3 * kUnit / 4);
    EXPECT_EQ(grid->times[link] + grid->times[knock_on] + grid->times[fill] +
                  grid->times[drain],
              static_cast<int64_t>(4 * (length - 33 + 9) * kUnit));
    EXPECT_EQ(grid->times[uneven], 0);
    EXPECT_NEAR(grid->ideal.value(), 3.0 / 11, 1e-12);
  }
}

// Stages of 1, 2, 1, 1: a mean pass takes 1.25 and 2.5.
TEST(PipelineGrid, ASlowStageMakesStagesUneven) {
  plan::PipelineCosts costs = one_and_two(4);
  costs.forward[1] = 2, costs.backward[1] = 4;
  const auto grid = grid_of(
      made_pipeline(pipeline_schedule(PipelineOrder::one_f_one_b, 4, 8), costs));
  expect_whole(*grid, "slow stage");
  EXPECT_EQ(grid->length(), 53 * kUnit);
  EXPECT_EQ(grid->times[pass], (24 * 3 + 48) * kUnit);
  EXPECT_EQ(grid->times.idle(), (4 * 53 - 120) * kUnit);
  EXPECT_EQ(grid->times[fill] + grid->times[drain] + grid->times[uneven],
            grid->times.idle());
  EXPECT_GT(grid->times[uneven], 50 * kUnit);
  EXPECT_LE(grid->times[fill] + grid->times[drain], 4 * 3 * 3750);
  EXPECT_GT(grid->devices[0].times[uneven], grid->devices[1].times[uneven]);
}

TEST(PipelineGrid, AWaitForACoreIsNotTheStages) {
  MadePipeline busy;
  busy.queued = 100;
  const auto grid = grid_of(made_pipeline(
      pipeline_schedule(PipelineOrder::one_f_one_b, 2, 4), one_and_two(2), busy));
  expect_whole(*grid, "cores");
  // The first pass of all begins the grid. That device 1 waits for a core is no wait
  // for a core of device 0.
  EXPECT_EQ(grid->devices[0].times[core], (8 - 1) * 100);
  EXPECT_EQ(grid->devices[0].times[knock_on], 200) << "1F0 and 1B0 are late";
  EXPECT_EQ(grid->times[uneven] + grid->times[order] + grid->times[host], 0);
}

TEST(PipelineGrid, TheBubblesPartsAddUpAsPrinted) {
  SlotTimes grid;
  grid[pass] = 549, grid[fill] = 248, grid[core] = 203;
  EXPECT_EQ(bubble_text(grid), "45.1 %: waiting for a core 20.3 %, all else 24.8 %");
  grid[pass] = 5490, grid[fill] = 2476, grid[core] = 2034;
  EXPECT_EQ(bubble_text(grid), "45.1 %: waiting for a core 20.3 %, all else 24.8 %");
  grid[core] = 0;
  EXPECT_EQ(bubble_text(grid), "31.1 %");
}

/// Moves the launch of one action, with its op, to `ts`.
void launch_later(Trace& trace, const std::string& action, int64_t ts) {
  const Event* phase = nullptr;
  for (Event& event : trace.events) {
    if (text_arg(event.args, "action") == action) {
      event.ts = ts, phase = &event;
      break;
    }
  }
  ASSERT_NE(phase, nullptr);
  for (Event& event : trace.events) {
    if (event.id == phase->id + 1) event.ts = ts + 1;
    if (event.is(categories::sync)) event.dur = event.end() - ts - 4, event.ts = ts + 4;
  }
  sort_events(trace.events);
}

TEST(PipelineGrid, WhatIsLaunchedLateIsTheHosts) {
  Trace trace = two_stages();
  int64_t begin = 0;
  for (Event& event : trace.events) {
    if (event.is(categories::sync)) event.dur += 300;
    if (!event.is(categories::kernel)) continue;
    if (begin == 0) begin = event.ts;
    if (event.ts >= begin + 2 * kUnit) event.ts += 300;  // the backward passes
  }
  launch_later(trace, "1B0", begin + 2 * kUnit + 299);  // its op 1 ns later
  const auto grid = grid_of(trace);
  expect_whole(*grid, "host");
  EXPECT_EQ(grid->length(), 6 * kUnit + 300);
  EXPECT_EQ(grid->devices[1].times.times,
            in_units({{pass, 3}, {fill, 1}, {host, 0.3}, {drain, 2}}).times);
  // Device 0 waits for device 1, which waits for the host.
  EXPECT_EQ(grid->devices[0].times.times,
            in_units({{pass, 3}, {fill, 3}, {host, 0.3}}).times);
}

TEST(PipelineGrid, WhatNothingExplainsIsAWakeUp) {
  Trace trace = two_stages();
  for (Event& event : trace.events) {
    if (event.is(categories::sync)) event.dur += 7;
    if (event.is(categories::kernel) && event.ts >= 100 + 4 * kUnit) event.ts += 7;
  }
  const auto grid = grid_of(trace);
  expect_whole(*grid, "wake-ups");
  EXPECT_EQ(grid->devices[0].times[wake_ups], 7);
  EXPECT_EQ(grid->times[host] + grid->times[link] + grid->times[unknown], 0);
}

// A kernel of the backward pass that needs no gradient runs right after the forward
// pass: what follows it waits as before.
TEST(PipelineGrid, APassMayWaitForItsInputInside) {
  Trace trace = two_stages();
  Event early;
  for (const Event& event : trace.events) {
    if (event.is(categories::kernel) && event.pid == 1) early = event;  // of 0B0
  }
  early.id = 999, early.deps = {};
  early.ts -= 2800, early.dur = 100;
  trace.events.push_back(early);
  sort_events(trace.events);
  const auto grid = grid_of(trace);
  expect_whole(*grid, "inside");
  EXPECT_EQ(grid->devices[0].times.times,
            in_units({{pass, 3.1}, {wake_ups, 0.2}, {fill, 2.7}}).times);
}

// Device 0 runs 0F1 before 0B0, but its stream awaits the gradient for 0B0 first.
TEST(PipelineGrid, AWaitForTheInputOfAnotherPassIsTheOrders) {
  Trace trace = made_pipeline(
      plan::parse_schedule("0F0,0B0,0F1,0B1\n1F0,1B0,1F1,1B1\n"), one_and_two(2, 0.25));
  std::vector<Event*> kernels;
  int64_t gradient = 0;
  for (Event& event : trace.events) {
    if (event.is(categories::kernel) && event.pid == 1) kernels.push_back(&event);
    const bool first = gradient == 0;
    if (first && text_arg(event.args, "why") == "activation_grad") gradient = event.id;
  }
  kernels[2]->ts = kernels[1]->ts;
  kernels[1]->ts += kUnit;
  kernels[2]->deps = {gradient};
  sort_events(trace.events);
  const auto grid = grid_of(trace);
  expect_whole(*grid, "queued");
  EXPECT_EQ(grid->devices[0].times[order], 3 * kUnit);
  EXPECT_EQ(grid->devices[0].times[link], kUnit / 2 + kUnit / 2);
  EXPECT_EQ(grid->devices[0].times[wake_ups], 0);
}

TEST(PipelineGrid, OtherWorkIsNotIdle) {
  Trace trace = two_stages();
  Event loss;
  for (const Event& event : trace.events) {
    if (event.is(categories::kernel) && event.pid == 2) loss = event;
  }
  loss.id = 999, loss.op = kNone;
  loss.ts += 2 * kUnit, loss.dur = 500;  // device 1, after its backward pass
  trace.events.push_back(loss);
  sort_events(trace.events);
  const auto grid = grid_of(trace);
  expect_whole(*grid, "other");
  EXPECT_EQ(grid->devices[1].times.times,
            in_units({{pass, 3}, {fill, 1}, {other, 0.5}, {drain, 1.5}}).times);
}

TEST(PipelineGrid, RandomSchedulesAddUp) {
  std::mt19937 random(18);
  const auto between = [&](int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random);
  };
  for (int round = 0; round < 60; ++round) {
    const int devices = between(1, 6), micro_batches = devices * between(1, 4);
    const auto order = static_cast<PipelineOrder>(between(0, 3));
    const int per_device = order == PipelineOrder::interleaved ? between(1, 3) : 1;
    plan::PipelineCosts costs = one_and_two(static_cast<size_t>(devices * per_device));
    for (double& cost : costs.forward) cost = between(1, 3000) / 1000.0;
    for (double& cost : costs.backward) cost = between(1, 3000) / 1000.0;
    costs.latency = between(0, 1) * between(0, 700) / 1000.0;
    MadePipeline options;
    options.kernels = between(1, 3);
    Trace trace = made_pipeline(
        pipeline_schedule(order, devices, micro_batches, per_device), costs, options);
    for (Event& event : trace.events) {  // kernels that start late
      if (!event.is(categories::kernel)) continue;
      const int64_t late = between(0, 1) * event.dur / between(2, 9);
      event.ts += late, event.dur -= late;
    }
    sort_events(trace.events);
    const auto grid = grid_of(trace);
    ASSERT_NE(grid, nullptr);
    expect_whole(*grid, std::to_string(round));
    EXPECT_EQ(grid->times[unknown], 0) << round;
    EXPECT_EQ(grid->times[other], 0) << round;
  }
}

}  // namespace
}  // namespace lockstep::tracer
