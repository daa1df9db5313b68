// Exactly one thread processes each element of a launch, whatever the sizes.
#include "engine/backends/cuda/launch_shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace lockstep::cuda {
namespace {

constexpr Index kRowCounts[] = {1, 2, 3, 7, 8, 9, 255, 257, 2048, 5003, 100'352};
constexpr Index kColumnCounts[] = {1, 2, 3, 8, 9, 31, 33, 64, 100, 257, 1000, 2048};

/// Simulates the kernel of gpu_launch.h thread by thread.
TEST(LaunchShape, ColumnsAreTakenOnce) {
  for (const Index rows : kRowCounts) {
    for (const Index columns : kColumnCounts) {
      const ColumnsShape shape = columns_shape(rows, columns);
      ASSERT_GE(shape.together, 1u) << rows << " x " << columns;
      if (Index{rows} * columns > 300'000) continue;
      std::vector<int> taken(rows * columns);
      for (Index t = 0; t < shape.blocks * kThreads; ++t) {
        if (t >= shape.together * columns) continue;
        for (Index row = t / columns; row < rows; row += shape.together) {
          ++taken[(rows - 1 - row) * columns + t % columns];
        }
      }
      EXPECT_EQ(taken, std::vector<int>(rows * columns, 1)) << rows << " x " << columns;
    }
  }
}

TEST(LaunchShape, SumsCoverRowsAndColumns) {
  for (const Index rows : kRowCounts) {
    for (const Index columns : kColumnCounts) {
      const SumShape shape = sum_shape(rows, columns);
      EXPECT_EQ(kThreads % shape.lanes, 0u);
      EXPECT_EQ(shape.lanes & (shape.lanes - 1), 0u) << "a power of two";
      EXPECT_GE(shape.lanes * shape.tiles, columns);
      EXPECT_LT(shape.lanes * (shape.tiles - 1), columns);
      EXPECT_GE(shape.shares, 1u);
      EXPECT_LE(shape.shares * shape.tiles, std::max(256u, shape.tiles));
      EXPECT_TRUE(shape.shares == 1 || shape.tiles <= kMostSharedTiles)
          << "each group of columns has a ticket";
    }
  }
}

/// Simulates sum_then_kernel, whose two passes process the same elements.
TEST(LaunchShape, ABlockTakesAllRowsOfItsColumns) {
  constexpr Index together = kThreads / kLanesOfABlock;
  for (const Index rows : kRowCounts) {
    for (const Index columns : kColumnCounts) {
      if (!fit_in_a_block(rows) || rows * columns > 300'000) continue;
      std::vector<int> taken(rows * columns);
      for (Index c = 0; c < divided_up(columns, kLanesOfABlock) * kLanesOfABlock; ++c) {
        for (Index y = 0; y < together; ++y) {
          if (c >= columns || y >= rows) continue;
          const Index count = divided_up(rows - y, together);
          for (Index i = 0; i < count; ++i) {
            ++taken[(y * columns + c) + i * together * columns];
          }
        }
      }
      EXPECT_EQ(taken, std::vector<int>(rows * columns, 1)) << rows << " x " << columns;
    }
  }
  EXPECT_TRUE(fit_in_a_block(4096));
  EXPECT_FALSE(fit_in_a_block(4097));
}

TEST(LaunchShape, LargeLaunchesAreBounded) {
  EXPECT_EQ(blocks_for(0), 0u);
  EXPECT_EQ(blocks_for(1), 1u);
  EXPECT_EQ(blocks_for(2'147'483'647), kMostBlocks);
  EXPECT_EQ(blocks_for_rows(9), 2u);
  EXPECT_EQ(columns_shape(2'000'000'000, 1).blocks, 528u);
  EXPECT_EQ(sum_shape(3'211'264, 8).lanes, 4u);
}

}  // namespace
}  // namespace lockstep::cuda
