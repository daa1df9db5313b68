// Local SGD: when weights are averaged, and which trainings it equals.
// sanitize: thread
#include "engine/sharing/local_sgd.h"

#include "tests/engine/sharing/ways.h"

namespace lockstep {
namespace {

using sharing::LocalSgd;
using sharing::LocalSgdOptions;
using test::Outcome;
using test::Problem;

const Problem kToyOfRanks{test::make_toy, {5}, 2, std::vector<int64_t>(6, 8)};
const Problem kResNetOfRanks{
    test::make_small_resnet, {2, 8, 8}, 3, std::vector<int64_t>(4, 8)};

/// Sets all parameters to `value`, then makes one step without gradients. Returns the
/// first element of the first parameter.
double value_after_step(LocalSgd& local, nn::Module& model, double value) {
  for (const Tensor& parameter : model.parameters()) {
    const std::vector<double> values(parameter.numel(), value);
    ops::copy_into(Tensor::from(values, parameter.sizes(), DType::f64),
                   parameter.detach(), {"h2d", "test"});
  }
  optim::Sgd nothing(model.named_parameters(), {});
  local.update(nothing);
  return test::values_of(model.parameters()[0])[0];
}

/// Returns the steps out of `steps` after which rank 0 has the ranks' mean; in the
/// others, each rank must have its own weights.
std::vector<int> steps_with_average(LocalSgdOptions options, int steps) {
  std::vector<int> averaged;
  test::on_ranks({.size = 3}, [&](test::Rank& rank) {
    const nn::ModulePtr model = test::in_double(test::make_toy);
    model->to(rank.device);
    LocalSgd local(*model, rank.group, options);
    for (int step = 0; step < steps; ++step) {
      const double mine = 3 * rank.rank;  // 0, 3, 6
      const double value = value_after_step(local, *model, mine);
      const bool is_mean = std::abs(value - 3) < 1e-12 && rank.rank != 1;
      if (rank.rank == 0 && is_mean) averaged.push_back(step);
      if (!is_mean) {
        EXPECT_EQ(value, mine) << "rank " << rank.rank << ", step " << step;
      }
    }
  });
  return averaged;
}

// The cases of PyTorch's test_periodic_model_averager, and its rule.
TEST(RingLocalSgd, AveragesRightAfterTheFirstStepAfterTheWarmUp) {
  for (const int warmup : {12, 13, 14, 15}) {
    std::vector<int> expected;
    for (int step = warmup; step < 20; step += 4) expected.push_back(step);
    EXPECT_EQ(steps_with_average({.period = 4, .warmup_steps = warmup}, 20), expected);
  }
  EXPECT_EQ(steps_with_average({.period = 4}, 10), (std::vector{0, 4, 8}));
  EXPECT_EQ(steps_with_average({.period = 1, .warmup_steps = 2}, 4),
            (std::vector{2, 3}));
}

TEST(RingLocalSgd, GoesOnFromTheNumberOfStepsInACheckpoint) {
  std::vector<int> averaged;
  test::on_ranks({.size = 2}, [&](test::Rank& rank) {
    const nn::ModulePtr model = test::in_double(test::make_toy);
    model->to(rank.device);
    LocalSgd local(*model, rank.group, {.period = 4, .warmup_steps = 1});
    local.set_steps_done(3);
    for (int step = 3; step < 10; ++step) {
      const double value = value_after_step(local, *model, rank.rank);
      EXPECT_EQ(local.steps_done(), step + 1);
      if (rank.rank == 0 && value == 0.5) averaged.push_back(step);
    }
  });
  EXPECT_EQ(averaged, (std::vector{5, 9}));
}

class LocalSgdLaw : public testing::TestWithParam<const Problem*> {};

TEST_P(LocalSgdLaw, WithAdamDiffersFromDdpEvenThen) {
  Problem problem = *GetParam();
  problem.optimizer = optim::AdamOptions{.lr = 0.01};
  EXPECT_GT(test::difference(test::by_local_sgd(1)(problem), test::by_ddp(problem)),
            1e-4)
      << "Adam's step is not linear in the gradient";
}

TEST_P(LocalSgdLaw, AveragesParametersOnly) {
  const auto ranks = test::ranks_by_local_sgd(*GetParam(), {.period = 1});
  for (size_t r = 1; r < ranks.size(); ++r) {
    EXPECT_EQ(test::largest_distance(ranks[r].weights, ranks[0].weights), 0);
    EXPECT_GT(test::largest_distance(ranks[r].state, ranks[0].state), 1e-6)
        << "momentum";
    if (ranks[0].buffers.empty()) continue;
    EXPECT_GT(test::largest_distance(ranks[r].buffers, ranks[0].buffers), 1e-6)
        << "statistics";
  }
}

INSTANTIATE_TEST_SUITE_P(Nets, LocalSgdLaw,
                         testing::Values(&kToyOfRanks, &kResNetOfRanks),
                         [](const auto& info) {
                           return info.param == &kToyOfRanks ? "toy" : "small_resnet";
                         });

}  // namespace
}  // namespace lockstep
