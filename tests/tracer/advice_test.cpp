// What would make a step faster: the largest group of classes of the devices' time, and
// the bound that its share of the longest path gives.
#include "tracer/analysis/advice.h"

#include <gtest/gtest.h>

namespace lockstep::tracer {
namespace {

using Times = std::vector<std::pair<Spent, int64_t>>;

Summary two_devices(const char* mode) {
  Summary summary;
  summary.mode = mode;
  summary.clock = values::emulated;
  summary.devices = 2;
  return summary;
}

/// A step of 1,000 ns on two devices, whose times are these; the rest computes.
StepSummary step_of(const Times& times, std::vector<PathShare> path = {}) {
  StepSummary step;
  step.length = step.path = step.split.step = 1'000;
  step.path_shares = std::move(path);
  step.split.known = true;
  step.split.devices.resize(2);
  int64_t computing = 2'000;
  for (const auto& [spent, ns] : times) {
    step.split.spent[spent] = ns;
    computing -= ns;
  }
  step.split.spent[Spent::computing] = computing;
  return step;
}

bool says(const std::string& sentence, const char* text) {
  return sentence.find(text) != std::string::npos;
}

TEST(Advice, JoinsWhatOneRemedyHelps) {
  const StepSummary step =
      step_of({{Spent::host, 400}, {Spent::replicate, 200}, {Spent::reduce, 400}},
              {{"backward", 500}, {"host", 200}, {"reduce", 150}, {"replicate", 150}});
  const std::string dp = help_sentence(step, two_devices("dp"));
  EXPECT_TRUE(says(dp, "reduce and replicate take 30 % of the devices' time")) << dp;
  EXPECT_TRUE(says(dp, "Without them, this step would be at most 1.43x")) << dp;
  EXPECT_TRUE(says(dp, "--mode ddp")) << dp;
  const std::string hybrid = help_sentence(step, two_devices("hybrid"));
  EXPECT_TRUE(says(hybrid, "Faster links")) << hybrid;
}

TEST(Advice, NamesTheLargestClass) {
  const std::pair<Spent, const char*> kWords[] = {
      {Spent::core, "cores of their own"},
      {Spent::gpu, "larger kernels"},
      {Spent::imbalance, "The devices that come last"},
      {Spent::host, "the host's work takes 25 %"},
      {Spent::loader, "More workers (`-j`)"},
      {Spent::collectives, "Faster links"},
      {Spent::activations, "Faster links"},
      {Spent::undivided, "the trace does not say"},
      {Spent::bucket_copies, "--gradient-as-bucket-view"},
      {Spent::lock, "--mode hogwild"},
      {Spent::other, "What would help is not known: other work takes 25 %"},
      {Spent::unknown, "What would help is not known: unknown takes 25 %"}};
  for (const auto& [spent, words] : kWords) {
    const std::string said =
        help_sentence(step_of({{spent, 500}, {Spent::reduce, 300}}), two_devices("dp"));
    EXPECT_TRUE(says(said, words)) << said;
    EXPECT_FALSE(says(said, "--mode ddp")) << said;
  }
}

// An idle device is not on the path, so its share of the path gives no bound.
TEST(Advice, NamesABoundOnlyWhereThePathHasOne) {
  const StepSummary step = step_of({{Spent::imbalance, 600}, {Spent::reduce, 50}},
                                   {{"backward", 950}, {"reduce", 50}});
  const std::string said = help_sentence(step, two_devices("ddp"));
  EXPECT_TRUE(says(said, "imbalance takes 30 % of the devices' time")) << said;
  EXPECT_FALSE(says(said, "at most")) << said;
  const std::string host =
      help_sentence(step_of({{Spent::host, 500}}, {{"backward", 750}, {"host", 250}}),
                    two_devices("ddp"));
  EXPECT_TRUE(says(host, "at most 1.33x")) << host;
}

TEST(Advice, OfPipelinesAsksForMicroBatchesOrAnotherSplit) {
  StepSummary step = step_of({{Spent::imbalance, 600}});
  auto pipeline = std::make_shared<Pipeline>();
  pipeline->times[Slot::fill] = 300;
  pipeline->times[Slot::uneven] = 200;
  step.pipeline = pipeline;
  const Summary two = two_devices("model-parallel");
  EXPECT_TRUE(says(help_sentence(step, two), "More micro-batches"));
  pipeline->times[Slot::uneven] = 400;
  EXPECT_TRUE(says(help_sentence(step, two), "--split auto"));
}

TEST(Advice, KnowsWhenTheHostMakesReplicas) {
  StepSummary step = step_of({{Spent::host, 600}});
  step.phases = {{phases::replicate, {}}};
  step.phases[0].cost.host = 200;
  Summary dp = two_devices("dp");
  dp.train.steps = {step};
  EXPECT_TRUE(says(help_sentence(step, dp), "makes the replicas"));
  dp.train.steps[0].phases[0].cost.host = 100;
  EXPECT_TRUE(says(help_sentence(step, dp), "With larger batches"));
}

TEST(Advice, ComputingAloneNeedsFasterDevices) {
  const std::string said =
      help_sentence(step_of({{Spent::host, 30}}), two_devices("ddp"));
  EXPECT_TRUE(says(said, "faster devices")) << said;
}

TEST(Advice, ADisturbedMeasurementGivesARemedyWithoutABound) {
  const StepSummary step = step_of({{Spent::reduce, 500}, {Spent::host, 300}},
                                   {{"backward", 750}, {"reduce", 250}});
  Summary disturbed = two_devices("dp");
  disturbed.clock = values::measured;
  disturbed.train.steps.push_back(step);
  disturbed.train.steps.back().kernel_wall = 200;
  disturbed.train.steps.back().kernel_cpu = 100;
  const std::string said = help_sentence(step, disturbed);
  EXPECT_TRUE(says(said, "reduce takes 25 % of the devices' time")) << said;
  EXPECT_TRUE(says(said, "--mode ddp")) << said;
  EXPECT_TRUE(says(said, "is unknown, because other programs")) << said;
  EXPECT_FALSE(says(said, "at most")) << said;
  disturbed.train.steps.back().kernel_cpu = 200;
  EXPECT_TRUE(says(help_sentence(step, disturbed), "at most 1.33x"));
}

// Beside the sentence about one step, that about all names the cause alone.
TEST(Advice, IsGivenOnceBesideTheCause) {
  Summary dp = two_devices("dp");
  StepSummary step = step_of({{Spent::reduce, 500}}, {{"backward", 1'000}});
  step.split.devices[0].spent = step.split.spent;
  dp.train.steps = {step};
  const std::string_view remedy = words_of(Remedy::ddp);
  const std::string cause = limiting_cause(dp);
  EXPECT_TRUE(says(cause, "summing the gradients")) << cause;
  EXPECT_EQ(cause.find(remedy), std::string::npos) << cause;
  EXPECT_EQ(cause + std::string(remedy), limiting_sentence(dp));
  EXPECT_NE(help_sentence(step, dp).find(remedy), std::string::npos);
}

TEST(Advice, WithoutAPathNothingIsSaid) {
  const StepSummary step = step_of({{Spent::host, 500}});
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
