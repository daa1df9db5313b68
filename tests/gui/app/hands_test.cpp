// What a person does with hands: taps, splitters, double clicks, notes, tables, tabs.
#include <algorithm>
#include <cmath>

#include "gui/app/key_latch.h"
#include "gui/app/splitters.h"
#include "gui/panels/code_colours.h"
#include "gui/panels/panels.h"
#include "gui/panels/timeline_parts.h"
#include "tests/gui/app/driver.h"

namespace lockstep::gui {
namespace {

constexpr int kShiftCode = 340;

/// Draws frames until the latch is empty; returns how often keys were seen pressed.
std::vector<std::string> presses(Offscreen& screen, KeyLatch& latch,
                                 const std::string& keys) {
  std::vector<std::string> seen;
  for (bool more = true; more;) {
    screen.with_context([&] { more = latch.feed(ImGui::GetIO()); });
    screen.frame(
        [&] {
          for (const char c : keys) {
            if (!key_pressed(key_of(c))) continue;
            seen.push_back(std::string(modifiers().shift ? "shift " : "") + c);
          }
        },
        0);
  }
  return seen;
}

TEST(KeyLatch, TapsBetweenTwoFramesAreAllSeenInOrder) {
  Offscreen screen(64, 64);
  KeyLatch latch;
  for (int i = 0; i < 200; ++i) latch.key('M', true), latch.key('M', false);
  EXPECT_EQ(presses(screen, latch, "m").size(), 200u);
  for (const char c : {'P', 'M', 'P'}) latch.key(c, true), latch.key(c, false);
  EXPECT_EQ(presses(screen, latch, "mp"), (std::vector<std::string>{"p", "m", "p"}));
}

TEST(KeyLatch, AModifierHoldsForTheKeysPressedUnderIt) {
  Offscreen screen(64, 64);
  KeyLatch latch;
  latch.key(kShiftCode, true);
  latch.key('B', true), latch.key('B', false);
  latch.key(kShiftCode, false);
  latch.key('B', true), latch.key('B', false);
  EXPECT_EQ(presses(screen, latch, "b"), (std::vector<std::string>{"shift b", "b"}));
}

TEST(KeyLatch, AHeldKeyIsPressedOnce) {
  Offscreen screen(64, 64);
  KeyLatch latch;
  latch.key('M', true);
  EXPECT_EQ(presses(screen, latch, "m").size(), 1u);
  EXPECT_EQ(presses(screen, latch, "m").size(), 0u);
  latch.key('M', false);
  EXPECT_EQ(presses(screen, latch, "m").size(), 0u);
}

TEST(Pacing, SleepsUnlessSomethingMovesOrArrived) {
  Pacing pacing;
  while (pacing.draws(false, false)) {
  }
  EXPECT_GE(pacing.wait(false, false), 5);
  EXPECT_FALSE(pacing.draws(false, false));
  EXPECT_EQ(pacing.wait(true, false), 0);
  EXPECT_TRUE(pacing.draws(true, false));
  EXPECT_EQ(pacing.wait(false, false), 0);  // it has ended: what it left is drawn
  int after = 0;
  while (pacing.draws(false, false)) ++after;
  EXPECT_GE(after, 2);
  EXPECT_TRUE(pacing.draws(true, false));
  EXPECT_TRUE(pacing.draws(false, false)) << "it ended between waiting and drawing";
  while (pacing.draws(false, false)) {
  }
  EXPECT_LT(pacing.wait(false, true), 1);  // a text field's cursor blinks
  EXPECT_TRUE(pacing.draws(false, true));
  pacing.wake();
  EXPECT_EQ(pacing.wait(false, false), 0);
  int drawn = 0;
  while (pacing.draws(false, false)) ++drawn;
  EXPECT_GE(drawn, 2);  // ImGui needs one more frame to settle
}

void drag(Driver& viewer, float x, float y, float to_x, float to_y) {
  viewer.screen.mouse(x, y);
  viewer.frame();
  viewer.screen.button(0, true);
  viewer.frame();
  viewer.screen.mouse(to_x, to_y);
  viewer.frame();
  viewer.frame();
  viewer.screen.button(0, false);
  viewer.frame();
}

void double_click(Driver& viewer, float x, float y) {
  viewer.screen.mouse(x, y);
  for (int i = 0; i < 30; ++i) viewer.frame();  // apart from earlier clicks
  for (int i = 0; i < 2; ++i) {
    viewer.screen.button(0, true);
    viewer.frame();
    viewer.screen.button(0, false);
    viewer.frame();
  }
}

TEST(Splitters, MoveWithinLimitsAndResetByDoubleClick) {
  Driver viewer("dp.json.gz", 1440, 900);
  const Rect before = viewer.app.tour_places[2];  // the left column
  const float x = before.right() + 4, y = before.y + 100;
  drag(viewer, x, y, x + 80, y);
  EXPECT_NEAR(viewer.app.tour_places[2].w, before.w + 80, 2);
  drag(viewer, x + 80, y, 1400, y);  // the stage keeps its least width
  EXPECT_GE(viewer.app.tour_places[0].w, 319);
  drag(viewer, viewer.app.tour_places[2].right() + 4, y, 2, y);
  EXPECT_GE(viewer.app.tour_places[2].w, 200);
  double_click(viewer, viewer.app.tour_places[2].right() + 4, y);
  EXPECT_EQ(viewer.app.settings.panes.left, 0);
  viewer.frame();
  EXPECT_EQ(viewer.app.tour_places[2].w, before.w);
}

TEST(Splitters, StayWhileTheTimelineIsDragged) {
  Driver viewer("dp.json.gz", 1280, 800);
  const Rect timeline = viewer.app.tour_places[4];
  const float y = timeline.y + timeline.h * 0.6f;
  drag(viewer, timeline.x + 300, y, timeline.x + 400, y - 60);
  EXPECT_EQ(viewer.app.settings.panes, Panes{});
  viewer.screen.modifiers(kShift);
  drag(viewer, timeline.x + 300, y, timeline.x + 900, y);
  viewer.screen.modifiers({});
  EXPECT_EQ(viewer.app.settings.panes, Panes{});
  const auto [from, to] = viewer.app.trace().timeline.selected;
  EXPECT_LT(from, to);
  viewer.frame();
  EXPECT_EQ(viewer.app.settings.drawer, Drawer::range);
  EXPECT_FALSE(viewer.app.trace().ops.rows.empty());
}

TEST(Panels, TitlesEnlargeAndRestore) {
  Driver viewer("dp.json.gz", 1280, 800);
  const Rect timeline = viewer.app.tour_places[4], left = viewer.app.tour_places[2];
  double_click(viewer, timeline.x + 300, timeline.y + 12);
  EXPECT_EQ(viewer.app.settings.enlarged, Pane::timeline);
  viewer.press(Key::escape);
  EXPECT_EQ(viewer.app.settings.enlarged, Pane::none);
  double_click(viewer, left.x + left.w * 0.5f, left.y + 12);
  EXPECT_EQ(viewer.app.settings.enlarged, Pane::calls);
  double_click(viewer, left.x + left.w * 0.5f, left.y + 12);
  EXPECT_EQ(viewer.app.settings.enlarged, Pane::none);
}

TEST(Rows, FitWholeAtEverySize) {
  EXPECT_FLOAT_EQ((Extent{1000, 300, 100, 500}.of(0)), 300);
  EXPECT_FLOAT_EQ((Extent{1000, 300, 100, 500}.of(0.9f)), 500);
  EXPECT_FLOAT_EQ((Extent{1000, 300, 100, 500}.of(0.01f)), 100);
  Driver viewer("", 300, 200);
  Ui ui(viewer.app.theme(), viewer.screen.fonts());
  for (float height = 30; height < 120; height += 7) {
    viewer.screen.frame(
        [&] {
          ImGui::Begin("rows");
          ui.list = ImGui::GetWindowDrawList();
          const Scroll scroll(ui, "rows", {10, 10, 100, height}, 400, 95, 0, 20);
          EXPECT_FLOAT_EQ(std::fmod(scroll.bottom() - 10, 20), 0);
          EXPECT_FLOAT_EQ(std::fmod(10 - scroll.top(), 20), 0);
          EXPECT_LE(scroll.bottom(), 10 + height);
          for (int i = 0; i < 20; ++i) {
            const float y = scroll.top() + 20 * static_cast<float>(i);
            const bool inside = y >= 10 && y + 20 <= scroll.bottom();
            EXPECT_EQ(scroll.shows(y, 20), inside) << height << ", row " << i;
          }
          ImGui::End();
        },
        0);
  }
}

TEST(Source, TheLitLineIsCutIntoRowsThatFit) {
  const std::string line =
      "  return ops::conv2d(input, weight_, bias_, {settings_.stride, "
      "settings_.padding});";
  for (const size_t columns : {20u, 36u, 60u, 200u}) {
    std::string joined;
    for (const std::string_view row : wrapped(line, columns, 6)) {
      const bool first = row.data() == line.data();
      EXPECT_LE(row.size(), first ? columns : columns - 6) << row;
      joined += row;
    }
    std::string all = line;
    std::erase(all, ' ');
    std::erase(joined, ' ');
    EXPECT_EQ(joined, all);
  }
  EXPECT_EQ(wrapped(line, 36, 6).front(), "  return ops::conv2d(input, weight_,");
  EXPECT_EQ(wrapped("", 36, 6).size(), 1u);
  EXPECT_EQ(wrapped(std::string(100, 'x'), 40, 6).size(), 3u);
  // Characters of several bytes are not cut.
  for (const std::string_view row : wrapped("ééééééééééééééééééééééé", 10, 2)) {
    EXPECT_EQ(row.size() % 2, 0u);
  }
}

TEST(Notes, KeysSetDrawListAndRemoveThem) {
  Driver viewer;
  viewer.go("2:backward");
  const auto& notes = viewer.app.trace().notes.placed;
  viewer.press('b');
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(viewer.app.trace().notes_changed);
  EXPECT_EQ(place_words(viewer.model(), notes[0].at), "step 2 · backward");
  const size_t with = viewer.app.trace().timeline.primitives;
  viewer.press('b');
  EXPECT_TRUE(notes.empty());
  EXPECT_LT(viewer.app.trace().timeline.primitives, with);  // the flag is gone
  viewer.press('a');
  EXPECT_EQ(viewer.app.settings.drawer, Drawer::notes);
  viewer.frame();
  viewer.screen.text("the slow one");
  viewer.frame();
  viewer.press(Key::enter);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].text, "the slow one");
  EXPECT_EQ(viewer.app.settings.editing, -1);
  viewer.press('b');  // words are not removed by a tap
  EXPECT_EQ(notes.size(), 1u);
}

TEST(Drawer, TheTableSortsAndWalksInstances) {
  Driver viewer("dp.json.gz", 1440, 900);
  viewer.go("2:forward");
  viewer.press('x');
  ASSERT_EQ(viewer.app.settings.drawer, Drawer::table);
  const OpTable& table = viewer.app.trace().ops;
  ASSERT_FALSE(table.rows.empty());
  EXPECT_TRUE(
      std::is_sorted(table.rows.begin(), table.rows.end(),
                     [](const OpRow& a, const OpRow& b) { return a.total > b.total; }));
  viewer.app.settings.sorted = OpColumn::count;
  viewer.frame();
  EXPECT_TRUE(
      std::is_sorted(table.rows.begin(), table.rows.end(),
                     [](const OpRow& a, const OpRow& b) { return a.count > b.count; }));
  viewer.press('e', {true, false, false, false});
  EXPECT_EQ(viewer.app.exports.csv, csv_of(viewer.model(), table.rows));
  viewer.press('x');
  EXPECT_EQ(viewer.app.settings.drawer, Drawer::none);
}

TEST(Drawer, TheTableOfAStepHasAllOfItsEvents) {
  for (const char* name : {"dp.json.gz", "ddp.json.gz", "single.json.gz"}) {
    Driver viewer(name);
    const Model& model = viewer.model();
    for (size_t step = 0; step < model.steps.size(); ++step) {
      uint64_t counted = 0, recorded = 0;
      for (const OpRow& row : op_table_of_step(model, step)) counted += row.count;
      for (const Event& event : model.events) {
        const bool listed = event.is_task() || event.what() == Kind::op;
        if (listed && model.step_of(event) == step) ++recorded;
      }
      EXPECT_EQ(counted, recorded) << name << ", step " << step;
      EXPECT_GT(counted, 0u);
    }
  }
}

TEST(Commands, CopyTheIdAndTheCommandLine) {
  Driver viewer;
  viewer.go("2:backward");
  const auto clipboard = [&] {
    std::string text;
    viewer.screen.with_context([&] { text = ImGui::GetClipboardText(); });
    return text;
  };
  viewer.press('c', {true, false, false, false});
  EXPECT_TRUE(clipboard().starts_with("backward #")) << clipboard();
  viewer.press('c', {true, true, false, false});
  EXPECT_TRUE(clipboard().starts_with("./lockstep view dp.json.gz --at '#"))
      << clipboard();
  viewer.press('s', {true, false, false, false});
  EXPECT_TRUE(viewer.app.exports.picture);
  viewer.press('o', {true, false, false, false});
  EXPECT_TRUE(viewer.app.opening.shown);
  viewer.press(Key::escape);
  EXPECT_FALSE(viewer.app.opening.shown);
}

TEST(Traces, TabsCloseThem) {
  Driver viewer;
  viewer.open("single.json.gz");
  viewer.frame();
  EXPECT_EQ(viewer.app.current(), 1u);
  viewer.app.close_trace(0);
  EXPECT_EQ(viewer.app.current(), 0u);
  EXPECT_EQ(viewer.model().name, "single.json.gz");
  viewer.frame();
  viewer.app.close_trace(0);
  EXPECT_FALSE(viewer.app.has_trace());
  viewer.frame();
}

TEST(Tour, ItsCardsAreBesideWhatTheyExplain) {
  for (const auto& [width, height] : {std::pair(1440, 900), {1280, 800}, {1024, 640}}) {
    Driver viewer("dp.json.gz", width, height);
    const Rect screen{0, 0, static_cast<float>(width), static_cast<float>(height)};
    for (const Rect& place : viewer.app.tour_places) {
      constexpr float kWide[] = {400, 340, 280, 230};
      const Rect focus = place.inset(-4);
      const Rect card =
          beside(focus, screen, kWide, [](float w) { return 104 + 30'000 / w; });
      const bool apart = card.right() <= focus.x || card.x >= focus.right() ||
                         card.bottom() <= focus.y || card.y >= focus.bottom();
      EXPECT_TRUE(apart) << width << ": " << focus.x << " " << focus.y << " " << focus.w
                         << " " << focus.h;
      EXPECT_GE(card.x, 0);
      EXPECT_LE(card.right(), screen.w);
      EXPECT_GE(card.y, 0);
      EXPECT_LE(card.bottom(), screen.h);
    }
  }
}

TEST(Tour, WaitsForATrace) {
  Driver viewer("");
  viewer.app.settings.tour = 1;
  viewer.frame();
  const int without = viewer.screen.draw_data()->TotalVtxCount;
  viewer.app.settings.tour = 0;
  viewer.frame();
  EXPECT_EQ(viewer.screen.draw_data()->TotalVtxCount, without);
}

TEST(Overlap, ItsLegendIsDrawn) {
  Driver viewer("ddp.json.gz");
  viewer.go("2:backward");
  Ui ui(viewer.app.theme(), viewer.screen.fonts());
  const Rect room{20, 20, 300, 80};
  const Image& picture = viewer.screen.frame(
      [&] {
        ImGui::SetNextWindowPos({0, 0});
        ImGui::SetNextWindowSize({400, 200});
        ImGui::Begin("overlap");
        ui.list = ImGui::GetWindowDrawList();
        draw_overlap(ui, room, viewer.app.trace());
        ImGui::End();
      },
      0xFF000000);
  size_t pixels = 0;  // of the square before "both at once", in the lowest line
  for (int y = 100 - 19; y < 100; ++y) {
    for (int x = 20; x < 320; ++x) {
      const ImU32 seen = picture.pixels[static_cast<size_t>(y * picture.width + x)];
      pixels += seen == viewer.app.theme().green;
    }
  }
  EXPECT_GE(pixels, 20u);
}

}  // namespace
}  // namespace lockstep::gui
