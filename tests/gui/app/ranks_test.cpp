// The viewer with a trace of 3 ranks, driven like a user.
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "gui/panels/stage_parts.h"
#include "tests/gui/app/driver.h"

namespace lockstep::gui {
namespace {

TEST(ViewRanks, KeysAndClicksChooseTheRank) {
  Driver viewer("ddp.json.gz");
  viewer.go("2:backward");
  EXPECT_EQ(viewer.app.trace().state.rank, 0);
  for (const int rank : {1, 2, 0}) {
    viewer.press('r');
    EXPECT_EQ(viewer.app.trace().state.rank, rank);
    EXPECT_EQ(viewer.name(), "backward");
    EXPECT_EQ(viewer.event().step, 2u);
  }
  viewer.press('r', kShift);
  EXPECT_EQ(viewer.app.trace().state.rank, 2);
  viewer.click(460, 150);  // the first card
  EXPECT_EQ(viewer.app.trace().state.rank, 0);
  viewer.press('o');
  viewer.press('r');
  EXPECT_EQ(viewer.app.trace().position.order, Order::time);
  EXPECT_EQ(viewer.app.trace().state.rank, 1);
  viewer.press(Key::page_down);
  viewer.press(Key::page_up);
  EXPECT_EQ(viewer.app.trace().state.rank, 1);
  EXPECT_EQ(viewer.name(), "step");
}

TEST(ViewRanks, AModalCardCoversTooltips) {
  Driver viewer("ddp.json.gz");
  const auto over_card = [&] {
    viewer.screen.mouse(460, 150);  // the first rank's card
    return viewer.settled().pixels;
  };
  const auto elsewhere = [&] {
    viewer.screen.mouse(1, 799);
    return viewer.settled().pixels;
  };
  EXPECT_NE(over_card(), elsewhere()) << "a tooltip";
  viewer.app.settings.help = true;
  EXPECT_EQ(over_card(), elsewhere());
  viewer.app.settings.help = false;
  viewer.app.settings.tour = 1;
  EXPECT_EQ(over_card(), elsewhere());
}

TEST(ViewRanks, ForwardAndBackAgainIsTheSamePicture) {
  Driver viewer("ddp.json.gz", 1024, 700);
  viewer.app.trace().timeline.follow = false;  // following would pan from step to step
  std::mt19937 random(11);
  const auto places = static_cast<uint32_t>(viewer.model().program.size());
  for (int round = 0; round < 60; ++round) {
    const uint32_t start = random() % places;
    const int n = 1 + static_cast<int>(random() % 12);
    viewer.app.go(at_event(viewer.model(), viewer.model().program[start]));
    if (start + static_cast<uint32_t>(n) >
        places_of(viewer.model(), viewer.app.trace().position).second) {
      continue;
    }
    const std::vector<uint32_t> before = viewer.settled().pixels;
    for (int i = 0; i < n; ++i) viewer.app.move(Move::into);
    viewer.frame();
    for (int i = 0; i < n; ++i) viewer.app.move(Move::back);
    viewer.settled();
    ASSERT_EQ(viewer.place(), start);
    const std::vector<uint32_t>& after = viewer.frame().pixels;
    const auto at = std::mismatch(before.begin(), before.end(), after.begin()).first;
    ASSERT_TRUE(at == before.end())
        << "from " << start << ", " << n << ": at x " << (at - before.begin()) % 1024
        << ", y " << (at - before.begin()) / 1024;
  }
}

TEST(ViewRanks, AllPlayToTheirEnd) {
  Driver viewer("ddp.json.gz");
  viewer.go("rank1:2");
  viewer.app.settings.transport.playing = true;
  viewer.app.settings.transport.speed = 1024;
  for (int i = 0; i < 100 && viewer.app.settings.transport.playing; ++i) {
    viewer.frame(0.1f);
  }
  EXPECT_FALSE(viewer.app.settings.transport.playing);
  EXPECT_EQ(viewer.place() + 1, viewer.model().rank_places[2]);
}

/// A trace of `ranks` ranks in which each runs a kernel at 10 µs.
std::string many_ranks(int ranks) {
  std::string events, devices;
  for (int rank = 0; rank < ranks; ++rank) {
    const int host = 100 * rank, id = 10 * rank;
    devices += fmt::format(R"({}{{"id":{},"name":"cpu:{}","rank":{}}})",
                           rank > 0 ? "," : "", rank, rank, rank);
    const auto event = [&](const char* cat, const char* name, int pid, int ts, int dur,
                           const std::string& args) {
      events += fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":0,)"
                            R"("ts":{},"dur":{},"args":{{"step":0,"rank":{},{}}}}},)",
                            cat, name, pid, ts, dur, rank, args);
    };
    event("phase", "step", host, 0, 50, fmt::format(R"("id":{})", id));
    event("op", "aten::relu", host, 5, 2, fmt::format(R"("id":{})", id + 1));
    event(
        "kernel", "relu", host + 1 + rank, 10, 10,
        fmt::format(R"("id":{},"op":{},"device":{},"stream":0)", id + 2, id + 1, rank));
  }
  events.pop_back();
  return fmt::format(R"({{"lockstep":{{"format":1,"mode":"ddp","clock":"measured",)"
                     R"("devices":[{}]}},"traceEvents":[{}]}})",
                     devices, events);
}

TEST(ViewRanks, AnyOfManyCanBeChosenOnTheStrip) {
  Driver viewer("");
  const auto text = std::make_shared<const std::string>(many_ranks(64));
  viewer.app.begin_loading("many", *text, text);
  viewer.app.finish_loading();
  viewer.app.trace().problems_seen = true;  // no line for the broken laws
  viewer.frame();
  // Clicks on the strip, which spans the stage, from left to right.
  std::vector<int> chosen;
  for (float x = 330; x < 990; x += 50) {
    viewer.click(x, 111);
    chosen.push_back(viewer.app.trace().state.rank);
  }
  EXPECT_TRUE(std::is_sorted(chosen.begin(), chosen.end(), std::less_equal<>()))
      << testing::PrintToString(chosen) << ": further to the right with each click";
  EXPECT_LT(chosen.front(), 8);
  EXPECT_GT(chosen.back(), 55);
}

bool overlap(const Rect& a, const Rect& b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

/// From the stage of a 1024x700 window to that of a 4K window.
TEST(RingLayout, NothingOverlapsOrLeavesTheStage) {
  for (const auto& [w, h] : {std::pair(497.0f, 305.0f),
                             {700.0f, 380.0f},
                             {795.0f, 440.0f},
                             {1500.0f, 800.0f},
                             {2300.0f, 1300.0f}}) {
    const Rect room{10, 20, w, h};
    for (int ranks = 2; ranks <= 40; ++ranks) {
      SCOPED_TRACE(testing::Message() << w << " x " << h << ", " << ranks);
      std::vector<int> order;
      for (int i = 0; i < ranks; ++i) order.push_back(i);
      const int focus = ranks * 2 / 3;
      const RingLayout layout = lay_out_ring(room, order, focus);
      const size_t cards = layout.devices.size();
      if (ranks <= 16) {
        ASSERT_EQ(cards, order.size());
        ASSERT_EQ(layout.strip.h, 0);
      } else {
        ASSERT_GE(cards, 4u);
        ASSERT_LE(cards, 16u);
        ASSERT_GT(layout.strip.h, 0);
      }
      ASSERT_EQ(layout.without_card(), order.size() - cards);
      ASSERT_LT(layout.card[focus], cards) << "the rank in focus has a card";
      EXPECT_TRUE(layout.is_top(layout.card[focus]) || ranks <= 16);
      std::vector<Rect> all = layout.devices;
      all.insert(all.end(), layout.hosts.begin(), layout.hosts.end());
      all.push_back(layout.loop);
      if (ranks > 16) all.push_back(layout.strip);
      for (size_t i = 0; i < all.size(); ++i) {
        EXPECT_GE(all[i].x, room.x - 1);
        EXPECT_LE(all[i].right(), room.right() + 1);
        EXPECT_GE(all[i].y, room.y - 1);
        EXPECT_LE(all[i].bottom(), room.bottom() + 1);
        for (size_t k = 0; k < i; ++k) EXPECT_FALSE(overlap(all[i], all[k])) << i << k;
      }
      // Ports are in clockwise order, as in the ring.
      for (size_t i = 1; i < layout.ports.size(); ++i) {
        EXPECT_GT(layout.ports[i], layout.ports[i - 1]);
      }
      // The cards are a part of the ring; the other ranks are between its ends.
      for (size_t card = 0; card < cards; ++card) {
        EXPECT_EQ(layout.card[layout.shown[card]], card);
        EXPECT_EQ(layout.shown[card],
                  (layout.shown[0] + static_cast<int>(card)) % ranks);
      }
      EXPECT_GT(layout.others, layout.ports.back());
      EXPECT_LT(layout.others, layout.ports.front() + 1);
    }
  }
}

}  // namespace
}  // namespace lockstep::gui
