// A process's share of batch and workers, as in PyTorch's ImageNet example.
#include "engine/plan/launch_arithmetic.h"

#include <gtest/gtest.h>

#include <set>

namespace lockstep::plan {
namespace {

TEST(LaunchArithmetic, SharesOfANode) {
  EXPECT_EQ(per_process_batch(256, 4), 64);
  EXPECT_EQ(per_process_batch(256, 3), 85);
  EXPECT_EQ(per_process_batch(3, 4), 0);
  EXPECT_EQ(per_process_workers(4, 4), 1);
  EXPECT_EQ(per_process_workers(5, 4), 2);
  EXPECT_EQ(per_process_workers(1, 4), 1);
  EXPECT_EQ(per_process_workers(0, 4), 0);
}

TEST(LaunchArithmetic, EveryProcessHasARankOfItsOwn) {
  EXPECT_EQ(total_world_size(2, 4), 8);
  EXPECT_EQ(global_rank(1, 2, 4), 6);
  std::set<int> ranks;
  for (const int node : {0, 1, 2}) {
    for (const int gpu : {0, 1, 2, 3}) ranks.insert(global_rank(node, gpu, 4));
  }
  EXPECT_EQ(ranks.size(), static_cast<size_t>(total_world_size(3, 4)));
  EXPECT_EQ(*ranks.begin(), 0);
  EXPECT_EQ(*ranks.rbegin(), 11);
}

}  // namespace
}  // namespace lockstep::plan
