// Which rank reads which samples: compares with PyTorch's DistributedSampler.
#include "engine/plan/sampler_indices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

namespace lockstep::plan {
namespace {

using Indices = std::vector<int64_t>;

TEST(SamplerIndices, EqualDistributedSampler) {
  std::ifstream file(LOCKSTEP_SOURCE_DIR "/tests/golden/torch/sampler.json");
  const auto golden = nlohmann::json::parse(file);
  EXPECT_GE(golden.at("rows").size(), 90u);
  for (const auto& row : golden.at("rows")) {
    SCOPED_TRACE(row);
    const auto order = row[0].get<Indices>();
    const int world = row[1];
    const bool drop_last = row[2];
    for (int rank = 0; rank < world; ++rank) {
      const auto expected = row[3].at(rank).get<Indices>();
      EXPECT_EQ(distributed_indices(order, rank, world, drop_last), expected);
      EXPECT_EQ(distributed_count(order.size(), world, drop_last), expected.size());
    }
  }
}

TEST(SamplerIndices, OfImageNetOnFourRanks) {
  Indices order(1281167);
  std::iota(order.begin(), order.end(), 0);
  EXPECT_EQ(distributed_count(1281167, 4, false), 320292);
  EXPECT_EQ(distributed_count(1281167, 4, true), 320291);
  std::vector<int> reads(order.size());
  for (int rank = 0; rank < 4; ++rank) {
    for (const int64_t i : distributed_indices(order, rank, 4, false)) ++reads[i];
  }
  EXPECT_EQ(reads[0], 2);  // the duplicate that gives all ranks the same count
  EXPECT_EQ(std::accumulate(reads.begin() + 1, reads.end(), 0), 1281166);
  EXPECT_EQ(*std::min_element(reads.begin(), reads.end()), 1);
}

TEST(SamplerIndices, PaddingMayBeLongerThanTheDataSet) {
  EXPECT_EQ(distributed_indices({7, 3}, 4, 5, false), Indices{7});
  EXPECT_EQ(distributed_indices({7, 3}, 3, 5, false), Indices{3});
  EXPECT_TRUE(distributed_indices({7, 3}, 0, 5, true).empty());
}

}  // namespace
}  // namespace lockstep::plan
