// What would make a step faster: the largest group of waits or transfers on its longest
// path, and the bound that its share gives.
#include "tracer/analysis/advice.h"

#include <gtest/gtest.h>

namespace lockstep::tracer {
namespace {

Summary two_devices(const char* mode) {
  Summary summary;
  summary.mode = mode;
  summary.clock = values::emulated;
  summary.devices = 2;
  return summary;
}

StepSummary step_of(std::vector<PathShare> shares) {
  StepSummary step;
  step.length = step.path = 1'000;
  step.path_shares = std::move(shares);
  return step;
}

bool says(const std::string& sentence, const char* text) {
  return sentence.find(text) != std::string::npos;
}

TEST(Advice, JoinsWhatOneRemedyHelps) {
  const StepSummary step =
      step_of({{"backward", 500}, {"host", 200}, {"reduce", 150}, {"replicate", 150}});
  const std::string dp = help_sentence(step, two_devices("dp"));
  EXPECT_TRUE(says(dp, "without reduce and replicate")) << dp;
  EXPECT_TRUE(says(dp, "at most 1.43x")) << dp;  // 1000 / (1000 − 300)
  EXPECT_TRUE(says(dp, "--mode ddp")) << dp;
  const std::string hybrid = help_sentence(step, two_devices("hybrid"));
  EXPECT_TRUE(says(hybrid, "Faster links")) << hybrid;
}

TEST(Advice, NamesTheLargest) {
  const auto said = [](const char* what) {
    return help_sentence(step_of({{"backward", 600}, {what, 250}, {"reduce", 150}}),
                         two_devices("dp"));
  };
  EXPECT_TRUE(says(said("waiting for a core"), "cores of their own"));
  EXPECT_TRUE(says(said("waiting for ranks"), "come last"));
  EXPECT_TRUE(says(said("host"), "without the host's work"));
  EXPECT_TRUE(says(said("host"), "larger batches"));
  EXPECT_TRUE(says(said("data"), "loader workers"));
  EXPECT_TRUE(says(said("host"), "at most 1.33x"));
}

TEST(Advice, ComputingAloneNeedsFasterDevices) {
  const std::string said = help_sentence(
      step_of({{"backward", 700}, {"forward", 290}, {"host", 10}}), two_devices("ddp"));
  EXPECT_TRUE(says(said, "faster devices")) << said;
}

TEST(Advice, ADisturbedMeasurementGivesARemedyWithoutABound) {
  const StepSummary step = step_of({{"backward", 600}, {"reduce", 250}, {"host", 150}});
  Summary disturbed = two_devices("dp");
  disturbed.clock = values::measured;
  disturbed.train.steps.push_back(step);
  disturbed.train.steps.back().kernel_wall = 200;
  disturbed.train.steps.back().kernel_cpu = 100;
  const std::string said = help_sentence(step, disturbed);
  EXPECT_TRUE(says(said, "reduce is 25 % of this step's longest path")) << said;
  EXPECT_TRUE(says(said, "--mode ddp")) << said;
  EXPECT_TRUE(says(said, "is unknown, because other programs")) << said;
  EXPECT_FALSE(says(said, "at most")) << said;
  disturbed.train.steps.back().kernel_cpu = 200;
  EXPECT_TRUE(says(help_sentence(step, disturbed), "at most 1.33x"));
}

TEST(Advice, WithoutAPathNothingIsSaid) {
  const StepSummary step = step_of({{"backward", 500}, {"host", 500}});
  EXPECT_NE(help_sentence(step, two_devices("dp")), "");
  Summary one = two_devices("single");
  one.devices = 1;
  EXPECT_EQ(help_sentence(step, one), "");
  Summary null = two_devices("dp");
  null.null_devices = true;
  EXPECT_EQ(help_sentence(step, null), "");
  Summary imported = two_devices("ddp");
  imported.imported = true;
  EXPECT_EQ(help_sentence(step, imported), "");
  StepSummary unknown = step;
  unknown.path = 0;
  EXPECT_EQ(help_sentence(unknown, two_devices("dp")), "");
}

}  // namespace
}  // namespace lockstep::tracer
