// Times of imported steps, devices and collectives, counted by hand.
#include "tests/tracer/golden.h"
#include "tests/tracer/kineto/profiler_file.h"
#include "tracer/analysis/check.h"
#include "tracer/analysis/summary.h"

namespace lockstep::tracer {
namespace {

using namespace testing;  // NOLINT

/// The host starts a step every 100 µs; the kernels of each take 100 µs too, but lag.
ProfilerFile overlapping_steps() {
  ProfilerFile file;
  file.kernel("before", 10, 20, 90);  // the profiler's warm-up
  file.step(3, 100, 100).kernel("a", 110, 150, 100);
  file.step(4, 200, 100).kernel("b", 210, 250, 100);
  file.step(5, 300, 100).kernel("c", 310, 350, 100);
  file.kernel("after", 500, 510, 1000);
  return file;
}

TEST(ImportedSteps, AddUpToTheTimeTheyTook) {
  const Summary summary = summarize(overlapping_steps().imported());
  ASSERT_EQ(summary.train.steps.size(), 3u);
  EXPECT_EQ(summary.train.steps[0].length, 140'000) << "after the warm-up's kernel";
  EXPECT_EQ(summary.train.steps[1].length, 100'000) << "from the end of the one before";
  EXPECT_EQ(summary.train.steps[2].length, 100'000) << "and not what follows it";
  EXPECT_EQ(summary.train.mean_period(), 100'000);
  EXPECT_EQ(summary.train.mean_overhang(), 50'000);
  EXPECT_EQ(summary.train.steps[2].computing.at(0), 100'000);
}

TEST(ImportedSteps, SummaryTellsPeriodAndOverhang) {
  const Summary summary = summarize(overlapping_steps().imported());
  const std::string text = summary_text(summary);
  EXPECT_NE(
      text.find("the host starts a step every 100 µs; the devices end it 50.0 µs"),
      std::string::npos)
      << text;
  EXPECT_EQ(text.find("training"), std::string::npos) << "the file does not say so";
  const Json json = summary_json(summary);
  EXPECT_DOUBLE_EQ(json["train"]["mean_period"], 100e-6);
  EXPECT_DOUBLE_EQ(json["train"]["mean_overhang"], 50e-6);
}

TEST(ImportedSteps, WhatIsLaunchedOutsideThemBelongsToNone) {
  const Trace trace = overlapping_steps().imported();
  for (const Event& event : trace.events) {
    const bool outside = event.name == "before" || event.name == "after";
    if (outside) EXPECT_EQ(event.step, kNone) << event.name;
  }
  EXPECT_TRUE(check_trace(trace).ok()) << check_text(check_trace(trace));
}

ProfilerFile copies_and_collective() {
  ProfilerFile file;
  file.step(1, 0, 100);
  file.kernel("sgemm", 1, 10, 20);                                       // to 30
  file.task("gpu_memset", "Memset (Device)", 2, 30, 5);                  // to 35
  file.task("gpu_memcpy", "Memcpy DtoD (Device -> Device)", 3, 35, 15);  // to 50
  file.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 4, 20, 150, 20);
  file.step(2, 100, 50);
  file.kernel("sgemm", 101, 120, 30);  // hides the collective of step 1
  return file;
}

TEST(ImportedDevices, CopiesAndMemsetsDoNotCompute) {
  const Summary summary = summarize(copies_and_collective().imported());
  ASSERT_EQ(summary.recording.size(), 1u);
  const DeviceTimes& time = summary.recording[0];
  EXPECT_EQ(time.computing, 50'000);
  EXPECT_EQ(time.memory, 20'000);
  EXPECT_EQ(time.communicating, 150'000);
  EXPECT_EQ(time.both, 10'000 + 30'000);
  EXPECT_EQ(time.recorded, 160'000);
  EXPECT_EQ(time.idle, 0);
  EXPECT_EQ(time.kernels, 2);
  EXPECT_EQ(time.collectives, 1);
  EXPECT_EQ(time.copies, 1);
  EXPECT_EQ(time.memsets, 1);
  EXPECT_EQ(summary.train.steps[0].computing.at(0), 20'000);
  ASSERT_EQ(summary.kernels.size(), 1u) << "by implementation";
  EXPECT_EQ(summary.kernels[0].count, 2);
}

TEST(ImportedDevices, ComputingInTheNextStepHidesACollective) {
  const Summary summary = summarize(copies_and_collective().imported());
  ASSERT_EQ(summary.train.steps[0].collectives.size(), 1u);
  EXPECT_EQ(summary.train.steps[0].collectives[0].exposed, 150'000 - 10'000 - 30'000);
}

}  // namespace
}  // namespace lockstep::tracer
