#include "experiments/scaling.h"

#include <gtest/gtest.h>

#include "experiments/imagenet.h"

namespace lockstep::experiments {
namespace {

using tracer::Summary;

/// A step that waits for these parts (ns), and 7 more.
Summary step_of(int64_t devices, const std::vector<tracer::PathShare>& shares) {
  Summary summary;
  summary.clock = "emulated";
  summary.arch = "resnet18";
  summary.devices = devices;
  tracer::StepSummary step;
  step.batch = 128 * devices;
  step.path_shares = shares;
  step.length = 7;
  for (const tracer::PathShare& share : shares) step.length += share.nanoseconds;
  summary.train.steps = {step};
  return summary;
}

std::vector<ScalingResult> results() {
  const auto runs = scaling_runs({});
  const Summary one =
      step_of(1, {{"forward", 300'000'123}, {"backward", 650'000'700}, {"h2d", 9'400}});
  const Summary two = step_of(2, {{"parallel_apply", 310'000'456},
                                  {"backward", 640'000'456},
                                  {"grad_scatter", 1'000'456},
                                  {"scatter", 5'000'456},
                                  {"replicate", 20'000'456},
                                  {"gather", 1'000'456},
                                  {"reduce", 60'000'456},
                                  {"d2h", 456},
                                  {"host", 8'000'456}});
  return {{runs[0], {one}}, {runs[1], {two}}};
}

TEST(Scaling, RunsKeepTheBatchOnEachDevice) {
  const auto runs = scaling_runs({});
  std::string names;
  for (const ScalingRun& run : runs) {
    names += run.name + " ";
    EXPECT_EQ(run.batch, 128 * run.devices);
  }
  EXPECT_EQ(names, "resnet_s_128 resnet_p_256 resnet_p_512 resnet_d_256 resnet_d_512 ");
  EXPECT_EQ(runs[3].heading, "DDP, 256 on 2");
  EXPECT_EQ(typed(scaling_runs({"vgg16", "cifar", 8, {1, 3}, {"-p", "1"}})[1].words),
            "train cifar -a vgg16 --mode dp --devices 3 --batch-size 24 -p 1");
}

TEST(Scaling, PartsAddUpToTheStep) {
  for (const ScalingResult& result : results()) {
    const auto parts = scaling_parts(result.clocks[0].train);
    int64_t sum = 0, inner = 0;
    for (const ScalingPart& part : parts) {
      (part.inner ? inner : sum) += part.nanoseconds;
    }
    EXPECT_EQ(sum, result.clocks[0].train.mean_length());
    EXPECT_EQ(parts[0].name, "forward");
    EXPECT_EQ(parts[0].nanoseconds, inner);
  }
  EXPECT_TRUE(scaling_parts({}).empty());
}

/// Returns the cell of a row on DataParallel.
std::string cell(const Rows& rows, const std::string& name, size_t column = 3) {
  for (const auto& row : rows) {
    if (row[1] == name) return row[column];
  }
  return "no such row";
}

TEST(Scaling, TheTableAddsUpAsPrinted) {
  const Rows rows = scaling_rows(results());
  EXPECT_EQ(rows[0], (std::vector<std::string>{"clock", "ms per step", "128 on 1",
                                               "DP, 256 on 2"}));
  for (const size_t column : {2, 3}) {
    int64_t sum = 0, inner = 0;
    for (const auto& row : rows) {
      if (row[1] == "the step") break;
      if (&row == &rows[0]) continue;
      (row[1].starts_with("·") ? inner : sum) += std::stoi(row[column]);
    }
    EXPECT_EQ(sum, std::stoi(cell(rows, "the step", column)));
    EXPECT_EQ(inner, std::stoi(cell(rows, "forward", column)));
  }
  EXPECT_EQ(cell(rows, "· of which replicate, broadcast"), "20");
  EXPECT_EQ(cell(rows, "reduce, all_reduce"), "60");
  EXPECT_EQ(cell(rows, "backward"), "641");  // with the gradients' scatter
  EXPECT_EQ(cell(rows, "the step"), "1045");
  EXPECT_EQ(cell(rows, "missing"), "95");
  EXPECT_EQ(cell(rows, "missing", 2), "–");
  EXPECT_EQ(cell(rows, "speed-up"), "1.82x");   // 2 · 950 / 1045
  EXPECT_EQ(cell(rows, "predicted"), "2.00x");  // p = 0.99999
  EXPECT_EQ(cell(rows, "difference"), "-0.18x");
  const auto json = scaling_json(results(), {"a note"});
  EXPECT_NEAR(json["runs"][1]["speedup"].get<double>(), 1.818, 1e-3);
  EXPECT_EQ(json["runs"][1]["parts"]["reduce, all_reduce"], 60'000'456 / 1e9);
}

TEST(Scaling, WhatIsUnknownIsNotANumber) {
  auto nothing = results();
  nothing[1].clocks[0].train.steps[0].path_shares.clear();
  EXPECT_EQ(cell(scaling_rows(nothing), "backward"), "unknown");
  EXPECT_EQ(cell(scaling_rows(nothing), "speed-up"), "unknown");
  EXPECT_TRUE(scaling_sentences(nothing).empty());

  auto null = results();
  for (ScalingResult& result : null) result.clocks[0].null_devices = true;
  for (const char* row : {"forward", "other", "the step", "missing", "difference"}) {
    EXPECT_EQ(cell(scaling_rows(null), row), "unknown") << row;
  }
  EXPECT_TRUE(scaling_sentences(null).empty());
  EXPECT_TRUE(scaling_json(null, {})["runs"][0]["seconds"].is_null());
  EXPECT_EQ(scaling_sentences(results()).size(), 1u);
}

TEST(Scaling, ThePlotHasABlockPerClock) {
  auto both = results();
  for (ScalingResult& result : both) {
    result.clocks.push_back(result.clocks[0]);
    result.clocks[0].clock = "measured";
  }
  const std::string data = scaling_plot(both, "t").data;
  EXPECT_NE(data.find("array clock[2] = ['measured', 'emulated']"), data.npos);
  EXPECT_NE(data.find("$steps << EOD\n\"128 on 1\" 0.0094 0.0000 300.0001"), data.npos)
      << data;
  EXPECT_NE(data.find("$speedups << EOD\n\"DP, 256 on 2\" 1.82 2.00 2\n\n\n\"DP"),
            data.npos)
      << data;
}

}  // namespace
}  // namespace lockstep::experiments
