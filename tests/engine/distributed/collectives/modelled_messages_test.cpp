// Messages of libraries that do not report them, derived from their algorithms.
#include "engine/distributed/collectives/modelled_messages.h"

#include <gtest/gtest.h>

namespace lockstep::distributed {
namespace {

int64_t numel_of(const ModelledMessages& messages) {
  int64_t sum = 0;
  for (const ModelledMessage& message : messages) sum += message.numel;
  return sum;
}

constexpr int64_t kNumel = 1001;

TEST(ModelledMessages, AllReduceGoesAroundTheRingTwiceLessTwoChunks) {
  for (RingWay way : {RingWay::next, RingWay::previous}) {
    for (int size = 1; size <= 6; ++size) {
      int64_t sum = 0;
      for (int rank = 0; rank < size; ++rank) {
        const auto messages = modelled_all_reduce(rank, size, kNumel, way);
        EXPECT_EQ(messages.size(), 2 * (size - 1));
        const int from = way == RingWay::next ? rank + size - 1 : rank + 1;
        for (const auto& message : messages) EXPECT_EQ(message.from, from % size);
        sum += numel_of(messages);
      }
      EXPECT_EQ(sum, 2 * (size - 1) * kNumel);
    }
  }
}

TEST(ModelledMessages, GlooEndsTheFirstHalfWithItsOwnChunk) {
  // Chunks of 10 elements on 4 ranks: 2, 3, 2, 3. Rank 1 reduces chunks 3, 0, 1 and
  // receives chunks 2, 3, 0.
  const ModelledMessages expected{{2, 3}, {2, 2}, {2, 3}, {2, 2}, {2, 3}, {2, 2}};
  EXPECT_EQ(modelled_all_reduce(1, 4, 10, RingWay::previous), expected);
}

TEST(ModelledMessages, AllGatherBringsEveryOther) {
  for (int size = 1; size <= 5; ++size) {
    const auto messages = modelled_all_gather(0, size, kNumel, RingWay::next);
    EXPECT_EQ(messages.size(), size - 1);
    EXPECT_EQ(numel_of(messages), (size - 1) * kNumel);
  }
}

// Each sender has received the data before, and the path from the root is logarithmic.
TEST(ModelledMessages, BroadcastIsATree) {
  for (int size = 1; size <= 9; ++size) {
    for (int root = 0; root < size; ++root) {
      EXPECT_TRUE(modelled_tree_broadcast(root, size, root, kNumel).empty());
      for (int rank = 0; rank < size; ++rank) {
        int at = rank, hops = 0;
        for (; at != root && hops < 9; ++hops) {
          const auto messages = modelled_tree_broadcast(at, size, root, kNumel);
          ASSERT_EQ(messages.size(), 1);
          EXPECT_EQ(messages[0].numel, kNumel);
          at = messages[0].from;
        }
        EXPECT_LE(1 << hops, 2 * size) << rank << " of " << size << " from " << root;
      }
    }
  }
  EXPECT_EQ(modelled_tree_broadcast(2, 4, 3, 5), (ModelledMessages{{0, 5}}));
}

TEST(ModelledMessages, ReduceCollectsAtTheRoot) {
  const auto other = modelled_gathering_reduce(0, 3, 1, 300, RingWay::previous);
  EXPECT_EQ(other, (ModelledMessages{{1, 100}, {1, 100}}));
  const auto root = modelled_gathering_reduce(1, 3, 1, 300, RingWay::previous);
  EXPECT_EQ(root, (ModelledMessages{{2, 100}, {2, 100}, {0, 100}, {2, 100}}));
}

}  // namespace
}  // namespace lockstep::distributed
