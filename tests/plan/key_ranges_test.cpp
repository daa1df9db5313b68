// Which server owns which keys: nothing is lost, owned twice or out of balance.
#include "engine/plan/key_ranges.h"

#include <gtest/gtest.h>

namespace lockstep::plan {
namespace {

using Ranges = std::vector<KeyRange>;
using Pieces = std::vector<Piece>;

TEST(KeyRanges, AreEqualUpToOneKey) {
  EXPECT_EQ(key_ranges(12, 1), (Ranges{{0, 12}}));
  EXPECT_EQ(key_ranges(12, 4), (Ranges{{0, 3}, {3, 6}, {6, 9}, {9, 12}}));
  EXPECT_EQ(key_ranges(11, 4), (Ranges{{0, 3}, {3, 6}, {6, 9}, {9, 11}}));
  EXPECT_EQ(key_ranges(2, 3), (Ranges{{0, 1}, {1, 2}, {2, 2}}));
}

/// ResNet18's 11,173,962 parameters for CIFAR on four servers, 4 B each.
TEST(KeyRanges, DivideResNet18) {
  for (const KeyRange& range : key_ranges(11'173'962, 4)) {
    EXPECT_NEAR(range.size() * 4.0, 44'695'848 / 4.0, 4);
  }
}

TEST(KeyRanges, CoverAllKeysOnce) {
  for (int64_t keys = 0; keys < 40; ++keys) {
    for (int servers = 1; servers < 12; ++servers) {
      int64_t next = 0;
      for (const KeyRange& range : key_ranges(keys, servers)) {
        EXPECT_EQ(range.begin, next);
        EXPECT_GE(range.size(), keys / servers);
        EXPECT_LE(range.size(), keys / servers + 1);
        next = range.end;
      }
      EXPECT_EQ(next, keys) << servers;
    }
  }
}

TEST(KeyRanges, DivideTensorsIntoPieces) {
  const std::vector<int64_t> numels{4, 0, 3, 5};
  EXPECT_EQ(pieces_of({0, 12}, numels),
            (Pieces{{0, 0, 4, 0}, {2, 0, 3, 4}, {3, 0, 5, 7}}));
  EXPECT_EQ(pieces_of({2, 8}, numels),
            (Pieces{{0, 2, 2, 0}, {2, 0, 3, 2}, {3, 0, 1, 5}}));
  EXPECT_EQ(pieces_of({8, 10}, numels), (Pieces{{3, 1, 2, 0}}));
  EXPECT_EQ(pieces_of({5, 5}, numels), Pieces{});
}

TEST(KeyRanges, PiecesOfAllServersAreTheTensors) {
  const std::vector<int64_t> numels{7, 1, 30, 2};
  for (int servers = 1; servers <= 9; ++servers) {
    std::vector<int64_t> found(numels.size());
    for (const KeyRange& range : key_ranges(40, servers)) {
      int64_t offset = 0;
      for (const Piece& piece : pieces_of(range, numels)) {
        EXPECT_EQ(piece.begin, found[piece.tensor]);
        EXPECT_EQ(piece.offset, offset);
        found[piece.tensor] += piece.length;
        offset += piece.length;
      }
      EXPECT_EQ(offset, range.size());
    }
    EXPECT_EQ(found, numels) << servers;
  }
}

}  // namespace
}  // namespace lockstep::plan
