// The best cuts are compared with all 2^(n − 1) cuts of random gradients.
#include "engine/plan/bucket_cuts.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace lockstep::plan {
namespace {

/// Returns the cuts in which bit i says whether gradient i + 1 begins a bucket.
std::vector<size_t> cuts_of(unsigned bits, size_t gradients) {
  std::vector<size_t> sizes{1};
  for (size_t i = 1; i < gradients; ++i) {
    if (bits >> (i - 1) & 1) {
      sizes.push_back(1);
    } else {
      ++sizes.back();
    }
  }
  return sizes;
}

TEST(BucketCuts, AreTheBestOfAll) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<TimedGradient> gradients(1 + random() % 10);
    double time = 0;
    for (TimedGradient& gradient : gradients) {
      time += static_cast<double>(random() % 100);
      gradient = {static_cast<int64_t>(random() % 1000), time};
    }
    const AllReduceCost cost{static_cast<double>(random() % 60),
                             static_cast<double>(random() % 100) / 100};
    double least = INFINITY;
    for (unsigned bits = 0; bits < 1u << (gradients.size() - 1); ++bits) {
      const auto cuts = cuts_of(bits, gradients.size());
      least = std::min(least, end_of_buckets(gradients, cuts, cost));
    }
    const std::vector<size_t> best = best_buckets(gradients, cost);
    EXPECT_EQ(std::accumulate(best.begin(), best.end(), size_t{0}), gradients.size());
    EXPECT_DOUBLE_EQ(end_of_buckets(gradients, best, cost), least) << trial;
  }
}

TEST(BucketCuts, FreeStartsGiveEachGradientABucketOfItsOwn) {
  const std::vector<TimedGradient> gradients{{10, 1}, {10, 100}, {10, 200}};
  EXPECT_EQ(best_buckets(gradients, {0, 1}).size(), 3u);
  EXPECT_EQ(end_of_buckets(gradients, {1, 1, 1}, {0, 1}), 210);
  // An expensive start: one bucket, after all gradients.
  EXPECT_EQ(best_buckets(gradients, {1000, 1}), (std::vector<size_t>{3}));
}

TEST(BucketCuts, AnAllReduceWaitsForTheOneBeforeIt) {
  EXPECT_EQ(end_of_buckets({{100, 1}, {10, 2}}, {1, 1}, {5, 1}), 1 + 105 + 15);
  EXPECT_EQ(best_buckets({}, {1, 1}), std::vector<size_t>{});
}

}  // namespace
}  // namespace lockstep::plan
