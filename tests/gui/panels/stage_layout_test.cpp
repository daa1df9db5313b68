// Where the stage places its cards, and the paths of data between them.
#include <gtest/gtest.h>

#include "gui/panels/stage_parts.h"

namespace lockstep::gui {
namespace {

class StagePaths : public testing::TestWithParam<std::pair<float, float>> {};

/// With one row, arcs run below it; with two, paths run between rows and columns.
TEST_P(StagePaths, CrossNoCard) {
  const auto [width, height] = GetParam();
  for (const size_t devices : {1u, 2u, 4u, 5u, 8u, 9u, 16u, 64u}) {
    const StageLayout layout = lay_out({10, 20, width, height}, devices);
    const auto last = static_cast<int>(layout.cards.size()) - 1;
    for (int from = kHostDevice; from <= last; ++from) {
      for (int to = kHostDevice; to <= last; ++to) {
        if (from == to) continue;
        const Path path = path_between(layout, from, to);
        for (float t = 0; t <= 1; t += 0.01f) {
          for (const Rect& card : layout.cards) {
            ASSERT_FALSE(card.inset(1).contains(path.at(t)))
                << devices << " devices, " << from << " to " << to << " at " << t;
          }
        }
      }
    }
  }
}

TEST_P(StagePaths, AllCardsAreInside) {
  const auto [width, height] = GetParam();
  for (const size_t devices : {1u, 4u, 5u, 8u, 9u, 15u, 16u, 64u}) {
    const StageLayout layout = lay_out({10, 20, width, height}, devices);
    for (const Rect& card : layout.cards) {
      EXPECT_GE(card.x, 9.5f) << devices;
      EXPECT_LE(card.right(), 10 + width + 0.5f) << devices;
    }
  }
}

TEST_P(StagePaths, BeginAndEndAtTheCards) {
  const auto [width, height] = GetParam();
  for (const size_t devices : {2u, 8u, 16u}) {
    const StageLayout layout = lay_out({0, 0, width, height}, devices);
    const auto touches = [&](int card, ImVec2 point) {
      const Rect& r = card == kHostDevice ? layout.host : layout.cards[card];
      return r.inset(-1).contains(point);
    };
    for (int to = 0; to < static_cast<int>(devices); ++to) {
      const Path down = path_between(layout, kHostDevice, to);
      EXPECT_TRUE(touches(kHostDevice, down.at(0)) && touches(to, down.at(1))) << to;
      const Path up = path_between(layout, to, kHostDevice);
      EXPECT_TRUE(touches(to, up.at(0)) && touches(kHostDevice, up.at(1))) << to;
      if (to == 0) continue;
      const Path across = path_between(layout, 0, to);
      EXPECT_TRUE(touches(0, across.at(0)) && touches(to, across.at(1))) << to;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, StagePaths,
                         testing::Values(std::pair(500.0f, 300.0f),
                                         std::pair(820.0f, 560.0f),
                                         std::pair(1600.0f, 900.0f)));

TEST(PacketLabel, CoversNeitherCardsNorPackets) {
  const Rect within{0, 100, 400, 80};
  const float size = 16, wide = 150;
  const auto covers = [](const Rect& a, const Rect& b) {
    return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
  };
  // A packet just below a row of cards, and one where the label would go.
  const std::vector<Rect> taken = {{0, 0, 400, 100}, {130, 110, 20, 20}};
  const Rect label = place_label({100, 108}, size, within, wide, taken);
  for (const Rect& other : taken) EXPECT_FALSE(covers(label, other));
  EXPECT_GE(label.x, within.x);
  EXPECT_LE(label.right(), within.right());
  // With room it is beside its packet, on the side that has room.
  EXPECT_FLOAT_EQ(place_label({100, 140}, size, within, wide, {}).y, 130);
  EXPECT_LT(place_label({390, 140}, size, within, wide, {}).right(), 390);
}

}  // namespace
}  // namespace lockstep::gui
