#include "run/recipe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/data/generated.h"
#include "engine/distributed/rendezvous/store.h"
#include "run/rank_agreement.h"
#include "run/train.h"

namespace lockstep::run {
namespace {

TEST(Epochs, SayHowFastAndHowLong) {
  EXPECT_EQ(describe_epoch(0, 50'000, 80, 100, 89),
            "=> epoch 0: 625.0 training images/s, about 2:28:20 left for 89 epochs");
  EXPECT_EQ(describe_epoch(88, 50'000, 80, 59.6, 1),
            "=> epoch 88: 625.0 training images/s, about 0:01:00 left for 1 epoch");
  EXPECT_EQ(describe_epoch(89, 50'000, 80, 100, 0),
            "=> epoch 89: 625.0 training images/s");
}

TEST(LrOfEpoch, StepsDownAsTheExample) {
  RecipeConfig recipe;
  EXPECT_EQ(lr_of_epoch(recipe, 256, 0), 0.1);
  EXPECT_EQ(lr_of_epoch(recipe, 256, 29), 0.1);
  EXPECT_NEAR(lr_of_epoch(recipe, 256, 30), 0.01, 1e-12);
}

TEST(LrOfEpoch, ScalesWithTheAccumulatedBatch) {
  RecipeConfig recipe;
  recipe.scale_lr = true;
  EXPECT_NEAR(lr_of_epoch(recipe, 128, 0), 0.05, 1e-12);
  recipe.accumulate = 4;
  EXPECT_NEAR(lr_of_epoch(recipe, 128, 0), 0.2, 1e-12);
}

TEST(LrOfEpoch, WarmsUpToACosine) {
  RecipeConfig recipe;
  recipe.schedule = optim::Schedule::Kind::cosine;
  recipe.epochs = 12;
  recipe.warmup_epochs = 2;
  EXPECT_NEAR(lr_of_epoch(recipe, 256, 0), 0.001, 1e-12);
  EXPECT_NEAR(lr_of_epoch(recipe, 256, 2), 0.1, 1e-12);
  EXPECT_NEAR(lr_of_epoch(recipe, 256, 7), 0.05, 1e-12);
}

TEST(Recipe, HoldsEnumsByTheirWords) {
  RunConfig config;
  auto recipe = nlohmann::json::parse(recipe_of(config));
  EXPECT_EQ(recipe["--schedule"], "step");
  EXPECT_EQ(recipe["--stem"], "");
  EXPECT_EQ(recipe["--batch-size"], 256);
  EXPECT_TRUE(recipe["--clip-grad-norm"].is_null());
  config.model.stem = models::Stem::imagenet;
  config.recipe.schedule = optim::Schedule::Kind::cosine;
  recipe = nlohmann::json::parse(recipe_of(config));
  EXPECT_EQ(recipe["--stem"], "imagenet");
  EXPECT_EQ(recipe["--schedule"], "cosine");
}

// One that is left out would silently change when a run is resumed.
TEST(Recipe, HoldsEveryHyperparameter) {
  RunConfig config;
  std::vector<std::string> flags{"--accumulate",
                                 "--alpha",
                                 "--amp",
                                 "--amsgrad",
                                 "--arch",
                                 "--batch-size",
                                 "--beta1",
                                 "--beta2",
                                 "--bias-weight-decay",
                                 "--centered",
                                 "--clip-grad-norm",
                                 "--div-factor",
                                 "--dropout",
                                 "--ema",
                                 "--ema-steps",
                                 "--epochs",
                                 "--eps",
                                 "--final-div-factor",
                                 "--label-smoothing",
                                 "--lr",
                                 "--lr-gamma",
                                 "--lr-milestones",
                                 "--lr-step-size",
                                 "--momentum",
                                 "--nesterov",
                                 "--no-augment",
                                 "--no-shuffle",
                                 "--norm-weight-decay",
                                 "--optimizer",
                                 "--pct-start",
                                 "--recompute",
                                 "--scale-lr",
                                 "--schedule",
                                 "--seed",
                                 "--stem",
                                 "--warmup-epochs",
                                 "--weight-decay"};
  const auto held = [&] {
    std::vector<std::string> names;
    const auto recipe = nlohmann::json::parse(recipe_of(config));
    for (const auto& [name, value] : recipe.items()) {
      names.push_back(name);
    }
    return names;
  };
  EXPECT_EQ(held(), flags);
  config.mode = train::Mode::local_sgd;
  for (const char* flag : {"--local-steps", "--warmup-steps"}) flags.emplace_back(flag);
  std::sort(flags.begin(), flags.end());
  EXPECT_EQ(held(), flags);
}

struct Planned {
  RunConfig config;
  DataSets data;

  Planned() {
    const std::vector<int64_t> shape{3, 8, 8};
    data.train = std::make_shared<data::Generated>(shape, 10, 10, 0);
    data.test = std::make_shared<data::Generated>(shape, 10, 5, 1);
    config.recipe.batch_size = 4;  // 3 steps of training, 2 of evaluation
    config.recipe.epochs = 2;
  }
  int64_t steps() const { return planned_steps(config, data, {}); }
};

TEST(PlannedSteps, CountTrainingAndEvaluation) {
  Planned run;
  EXPECT_EQ(run.steps(), 10);
  run.config.recipe.start_epoch = 1;
  EXPECT_EQ(run.steps(), 5);
  run.config.evaluate = true;
  EXPECT_EQ(run.steps(), 2);
}

TEST(PlannedSteps, EndAtTheLimitAfterAWholeEvaluation) {
  Planned run;
  run.config.steps = 2;
  EXPECT_EQ(run.steps(), 2);
  run.config.steps = 4;
  EXPECT_EQ(run.steps(), 5);
  run.config.steps = 0;
  EXPECT_EQ(run.steps(), 0);
}

/// The error message that each of two ranks gets when they compare their facts.
std::vector<std::string> agreement_of(const Facts& first, const Facts& second) {
  const auto store = std::make_shared<distributed::HashStore>(Milliseconds(5000));
  std::vector<std::string> said(2);
  const auto rank = [&](int number, const Facts& facts) {
    try {
      agree(*store, "ready", facts, number, 2, Milliseconds(5000));
    } catch (const std::runtime_error& error) {
      said[number] = error.what();
    }
  };
  std::thread other(rank, 1, second);
  rank(0, first);
  other.join();
  return said;
}

TEST(Agreement, IsSilentAmongEquals) {
  const Facts facts = shared_options(RunConfig{});
  EXPECT_EQ(agreement_of(facts, facts), std::vector<std::string>(2));
}

TEST(Agreement, TellsAllRanksTheSame) {
  RunConfig config;
  const Facts first = shared_options(config);
  config.ddp.sync = DdpSync::naive;
  config.recipe.lr = 0.5;
  config.data.no_shuffle = true;
  const auto said = agreement_of(first, shared_options(config));
  EXPECT_EQ(said[0],
            "rank 1 has --ddp-sync naive, --lr 0.5, --no-shuffle, but rank 0 has "
            "--ddp-sync reducer, --lr 0.1, no --no-shuffle; fix: start all ranks with "
            "the same options");
  EXPECT_EQ(said[1], said[0]);
}

TEST(Agreement, RanksThatDrawTheirSeedsAgree) {
  RunConfig one, other;
  one.draws_seed = other.draws_seed = true;
  one.recipe.seed = 1, other.recipe.seed = 2;
  EXPECT_EQ(shared_options(one), shared_options(other));
  one.draws_seed = false;
  EXPECT_EQ(agreement_of(shared_options(one), shared_options(other))[1],
            "rank 1 has no --seed, but rank 0 has --seed 1; fix: start all ranks with "
            "the same options");
}

TEST(Agreement, NcclOnCpusIsRing) {
  RunConfig nccl, ring;
  ring.distributed.backend = DistBackend::ring;
  EXPECT_EQ(shared_options(nccl), shared_options(ring));
}

}  // namespace
}  // namespace lockstep::run
