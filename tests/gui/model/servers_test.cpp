// Which ranks are parameter servers, what each has, and where the stage draws them.
#include "gui/model/servers.h"

#include <gtest/gtest.h>

#include "gui/panels/stage_parts.h"
#include "tests/gui/model/made_trace.h"

namespace lockstep::gui {
namespace {

/// Rank 0 works; with `mode` ps, ranks 1 and 2 serve 40 and 24 bytes of its weights.
Model model_of(const char* mode) {
  test::Made made(mode);
  made.x("phase", "step", 0, 0, 100, R"("kind":"train","rank":0)")
      .x("copy", "pull", 1, 10, 5,
         R"("rank":0,"why":"pull","src":1,"dst":0,"bytes":40,"tensor":"weights")")
      .x("copy", "pull", 1, 16, 5,
         R"("rank":0,"why":"pull","src":2,"dst":0,"bytes":24,"tensor":"weights")")
      .x("kernel", "backward", 1, 30, 5, R"("rank":0)")
      .x("copy", "push", 2, 60, 9,
         R"("rank":1,"why":"push","src":0,"dst":1,"bytes":44,"tensor":"gradients")")
      .x("kernel", "sgd", 2, 70, 20, R"("rank":1)")
      .x("kernel", "sgd", 3, 80, 20, R"("rank":2)");
  return made.model();
}

TEST(Servers, AreTheRanksAfterTheWorkers) {
  const Model model = model_of("ps");
  EXPECT_EQ(rank_title(model, 0), "worker 0");
  EXPECT_EQ(rank_title(model, 1), "server 0");
  EXPECT_EQ(rank_title(model, 2), "server 1");
  EXPECT_TRUE(has_server_stage(model));
  const Model others = model_of("ddp");
  EXPECT_EQ(rank_title(others, 1), "rank 1");
  EXPECT_FALSE(has_server_stage(others));
  EXPECT_EQ(rank_title(model_of("hogwild"), 1), "worker 1");
  EXPECT_EQ(rank_title(model_of("locked"), 1), "worker 1");
}

TEST(Servers, HaveNoProgramOfTheirOwn) {  // so that none is promised
  const Model model = model_of("ps");
  EXPECT_TRUE(has_program(model, 0));
  EXPECT_FALSE(has_program(model, 1)) << "only its device has events";
  EXPECT_FALSE(has_program(model, 7));
}

TEST(Servers, HaveWhatIsPulledFromThem) {
  const Model model = model_of("ps");
  EXPECT_EQ(weights_of_server(model, 1), 40) << "not what is pushed to it";
  EXPECT_EQ(weights_of_server(model, 2), 24);
  EXPECT_EQ(weights_of_server(model, 0), 0) << "a worker";
}

TEST(Servers, AreBelowTheWorkers) {
  for (const size_t workers : {1u, 3u, 7u, 12u}) {
    for (const size_t servers : {1u, 2u, 4u}) {
      std::vector<int> order(workers + servers);
      for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
      const RingLayout layout = lay_out_ring({10, 20, 630, 360}, order, 0, workers);
      ASSERT_EQ(layout.devices.size(), order.size());
      for (size_t card = 0; card < order.size(); ++card) {
        const Rect& own = layout.devices[card];
        const std::string which =
            fmt::format("card {} of {} + {}", card, workers, servers);
        EXPECT_EQ(layout.is_top(card), card < workers) << which;
        EXPECT_GE(own.x, 9.5f) << which;
        EXPECT_LE(own.right(), 640.5f) << which;
        if (card > 0 && card != workers) {
          EXPECT_GT(own.x, layout.devices[card - 1].right()) << which;
        }
      }
    }
  }
}

/// Returns the devices with a card: "2..9 | 40..47".
std::string shown(const RingLayout& layout, size_t workers) {
  std::string text;
  for (size_t i = 0; i < layout.shown.size(); ++i) {
    const bool begins = i == 0 || (i > 0 && layout.is_top(i) != layout.is_top(i - 1));
    const bool ends =
        i + 1 == layout.shown.size() || layout.is_top(i) != layout.is_top(i + 1);
    if (begins) text += fmt::format("{}{}..", i == 0 ? "" : " | ", layout.shown[i]);
    if (ends) text += fmt::format("{}", layout.shown[i]);
    EXPECT_EQ(layout.is_top(i), layout.shown[i] < static_cast<int>(workers));
    EXPECT_EQ(layout.card[static_cast<size_t>(layout.shown[i])], i);
  }
  return text;
}

TEST(Servers, OfMoreThanSixteenDevicesThoseAroundTheFocusAreShown) {
  std::vector<int> order(48);
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  const auto at = [&](int focus) {
    const RingLayout layout = lay_out_ring({10, 20, 900, 400}, order, focus, 40);
    EXPECT_GT(layout.strip.h, 0);
    return shown(layout, 40);
  };
  EXPECT_EQ(at(0), "0..7 | 40..47");
  EXPECT_EQ(at(20), "17..24 | 40..47");
  EXPECT_EQ(at(39), "32..39 | 40..47");
  std::vector<int> many(60);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<int>(i);
  EXPECT_EQ(shown(lay_out_ring({10, 20, 900, 400}, many, 50, 40), 40), "0..7 | 47..54");
  EXPECT_EQ(shown(lay_out_ring({10, 20, 900, 400}, order, 0, 3), 3), "0..2 | 3..10");
}

}  // namespace
}  // namespace lockstep::gui
