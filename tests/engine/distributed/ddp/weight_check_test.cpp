// --check-weights: weights that differ between ranks are found, and the message names
// the parameter and the ranks.
// sanitize: thread
#include "engine/distributed/ddp/weight_check.h"

#include <gtest/gtest.h>

#include "engine/distributed/ddp/distributed_data_parallel.h"
#include "tests/engine/distributed/nets.h"

namespace lockstep {
namespace {

using distributed::check_weights;
using distributed::disagreement_of;
using test::Rank;

const std::vector<std::string> kNames{"conv1.weight", "bn1.bias", "fc.weight"};

TEST(DdpWeights, AreNamedIfTheyDiffer) {
  EXPECT_EQ(disagreement_of(kNames, {{1, 2, 3}}), "");
  EXPECT_EQ(disagreement_of(kNames, {{1, 2, 3}, {1, 2, 3}, {1, 2, 3}}), "");
  EXPECT_EQ(disagreement_of(kNames, {{1, 2, 3}, {1, 9, 3}, {1, 2, 3}}),
            "bn1.bias of rank 1 differs from that of rank 0");
  EXPECT_EQ(disagreement_of(kNames, {{7, 2, 3}, {1, 9, 3}, {1, 2, 3}, {1, 2, 4}}),
            "conv1.weight of rank 0 differs from that of rank 1; 2 more parameters "
            "differ, too");
  EXPECT_EQ(disagreement_of(kNames, {{1, 2, 3}, {1, 2, 5}, {1, 2, 6}, {1, 2, 3}}),
            "fc.weight of ranks 1, 2 differs from that of rank 0");
  EXPECT_EQ(disagreement_of(kNames, {{1, 2, 3}, {1, 5, 4}}),
            "bn1.bias of rank 1 differs from that of rank 0; 1 more parameter differs, "
            "too");
}

/// Changes one element of a parameter by one unit in the last place.
void nudge(const Tensor& parameter, int64_t element) {
  const Tensor host = ops::copy_to(parameter, kHost, {"d2h"});
  auto* bits = static_cast<uint32_t*>(host.view().data);
  bits[element] ^= 1;
  ops::copy_into(host, parameter, {"h2d"});
}

class DdpWeightsOfRanks : public testing::TestWithParam<DeviceType> {};

TEST_P(DdpWeightsOfRanks, ThatDifferInOneBitAreFoundByAll) {
  const auto check = [](Rank& rank, bool changes) {
    const auto model = std::make_shared<test::TwoLinears>();
    model->to(rank.device);
    distributed::DistributedDataParallel ddp(model, rank.group);
    const auto parameters = model->named_parameters();
    check_weights(parameters, *rank.group);  // broadcast at construction
    const Tensor& last = parameters.back().value;
    if (changes && rank.rank == 2) nudge(last, last.numel() - 1);
    check_weights(parameters, *rank.group);
  };
  const test::World world{4, test::Wire::local, GetParam()};
  test::on_ranks(world, [&](Rank& rank) { check(rank, false); });
  for (const std::string& error :
       test::messages_of_ranks(world, [&](Rank& rank) { check(rank, true); })) {
    EXPECT_NE(
        error.find("the weights of the ranks differ: second.bias of rank 2 differs "
                   "from that of rank 0; fix: resume from a checkpoint"),
        std::string::npos)
        << error;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, DdpWeightsOfRanks,
                         testing::Values(DeviceType::reference, DeviceType::cpu));

TEST(DdpWeights, OfDevicesThatComputeNothingAreNotCompared) {
  test::on_ranks({2, test::Wire::local, DeviceType::null}, [](Rank& rank) {
    const auto model = std::make_shared<test::TwoLinears>();
    model->to(rank.device);
    check_weights(model->named_parameters(), *rank.group);
  });
}

}  // namespace
}  // namespace lockstep
