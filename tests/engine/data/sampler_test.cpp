#include "engine/data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "engine/data/rank_sampler.h"
#include "tests/engine/data/golden.h"

namespace lockstep::data {
namespace {

using Indices = std::vector<int64_t>;

Indices counted(int64_t length) {
  Indices indices(length);
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

TEST(Sampler, SequentialCounts) {
  EXPECT_EQ(SequentialSampler(5).indices(0), (Indices{0, 1, 2, 3, 4}));
  EXPECT_EQ(SequentialSampler(5).indices(7), (Indices{0, 1, 2, 3, 4}));
  EXPECT_EQ(SequentialSampler(0).indices(0), Indices{});
}

TEST(Sampler, RandomShufflesAsPythonDoes) {
  for (const auto& golden : golden().at("shuffles")) {
    const auto order = golden.at("order").get<Indices>();
    const RandomSampler sampler(static_cast<int64_t>(order.size()), golden.at("seed"));
    EXPECT_EQ(sampler.indices(golden.at("epoch")), order);
  }
}

TEST(Sampler, RandomIsAPermutationOfItsOwnForEachEpochAndSeed) {
  for (const int64_t length : {0, 1, 2, 3, 100, 4660}) {
    const RandomSampler sampler(length, 3);
    EXPECT_EQ(sampler.size(), length);
    Indices order = sampler.indices(4);
    EXPECT_EQ(order, sampler.indices(4)) << "the order is reproducible";
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, counted(length));
  }
  const RandomSampler sampler(100, 3);
  EXPECT_NE(sampler.indices(0), counted(100));
  EXPECT_NE(sampler.indices(0), sampler.indices(1));
  EXPECT_NE(sampler.indices(0), RandomSampler(100, 4).indices(0));
}

// There are 24 permutations of 4 samples; in 24,000 epochs each is expected 1,000
// times. Chi-square with 23 degrees of freedom exceeds 49.7 with probability 0.001.
TEST(Sampler, RandomPrefersNoPermutation) {
  const RandomSampler sampler(4, 1);
  std::map<Indices, int> seen;
  for (int64_t epoch = 0; epoch < 24'000; ++epoch) ++seen[sampler.indices(epoch)];
  ASSERT_EQ(seen.size(), 24u);
  double chi_square = 0;
  for (const auto& [order, count] : seen) {
    chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  }
  EXPECT_LT(chi_square, 49.7);
}

TEST(Sampler, OfARankIsEveryNthSampleOfTheShuffledOrder) {
  for (const bool drop_last : {false, true}) {
    Indices dealt(drop_last ? 8 : 12);
    for (int rank = 0; rank < 4; ++rank) {
      const auto sampler = rank_sampler()({10, rank, 4, true, 3, drop_last});
      const Indices own = sampler->indices(2);
      EXPECT_EQ(sampler->size(), static_cast<int64_t>(own.size()));
      for (size_t k = 0; k < own.size(); ++k) dealt.at(4 * k + rank) = own[k];
    }
    Indices order = RandomSampler(10, 3).indices(2);
    order.push_back(order[0]);
    order.push_back(order[1]);
    order.resize(dealt.size());
    EXPECT_EQ(dealt, order);
  }
  EXPECT_EQ(rank_sampler()({.length = 5, .rank = 1, .world = 2, .shuffle = false})
                ->indices(7),
            (Indices{1, 3, 0}));
}

TEST(Sampler, OfARankIsASlot) {
  rank_sampler().plug([](const Share& share) {
    return std::make_shared<RangeSampler>(share.rank, share.length);
  });
  EXPECT_EQ(rank_sampler()({.length = 4, .rank = 2, .world = 3})->indices(0),
            (Indices{2, 3}));
  rank_sampler().unplug();
}

TEST(Sampler, TheLastShortBatchIsRealUnlessDropped) {
  const std::vector<Indices> all{{0, 1, 2}, {3, 4, 5}, {6}};
  EXPECT_EQ(cut_batches(counted(7), 3, false), all);
  EXPECT_EQ(cut_batches(counted(7), 3, true), (std::vector<Indices>{all[0], all[1]}));
  EXPECT_EQ(cut_batches(counted(6), 3, true), (std::vector<Indices>{all[0], all[1]}));
  EXPECT_EQ(cut_batches(counted(2), 3, false), (std::vector<Indices>{{0, 1}}));
  EXPECT_EQ(cut_batches(counted(2), 3, true), std::vector<Indices>{});
  EXPECT_EQ(cut_batches({}, 3, false), std::vector<Indices>{});
}

TEST(Sampler, CountsBatchesAsThePythonLenDoes) {
  EXPECT_EQ(batch_count(50'000, 128, false), 391);
  EXPECT_EQ(batch_count(50'000, 128, true), 390);
  EXPECT_EQ(batch_count(0, 128, false), 0);
  EXPECT_EQ(batch_count(10, INT64_MAX, false), 1);
  EXPECT_EQ(batch_count(10, INT64_MAX, true), 0);
}

}  // namespace
}  // namespace lockstep::data
