// "What is exposed": the panel of collectives, opened by a key; a click on a row goes
// to its event. The list of keys, as text.
#include "gui/model/collectives.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gui/model/details.h"
#include "gui/panels/panels.h"
#include "tests/gui/app/driver.h"

namespace lockstep::gui {
namespace {

TEST(Exposed, KeyHOpensThePanelInsteadOfTheOthers) {
  Driver viewer("ddp.json.gz");
  const Image stage = viewer.frame();
  viewer.press('y');
  viewer.press('h');
  const Settings& settings = viewer.app.settings;
  EXPECT_TRUE(settings.exposed);
  EXPECT_FALSE(settings.why);
  EXPECT_NE(viewer.frame().pixels, stage.pixels);
  viewer.press('i');
  EXPECT_FALSE(settings.exposed);
  viewer.press('h');
  EXPECT_TRUE(settings.exposed);
  EXPECT_FALSE(settings.pipeline);
  viewer.press('y');
  EXPECT_FALSE(settings.exposed);
  EXPECT_TRUE(settings.why);
}

TEST(Exposed, ItsRowsAreThoseOfTheStepAndRankInFocus) {
  Driver viewer("ddp.json.gz");
  viewer.press('h');
  OpenTrace& trace = viewer.app.trace();
  for (const char* at : {"1", "rank1:2:backward"}) {
    viewer.go(at);
    ASSERT_FALSE(trace.collectives.empty()) << at;
    for (const CollectiveRow& row : trace.collectives) {
      EXPECT_EQ(viewer.model().rank_of(row.event), trace.state.rank) << at;
      EXPECT_EQ(viewer.model().step_of(viewer.model().events[row.event]),
                trace.state.step);
    }
  }
}

/// Clicks down the middle of the stage until an event of this kind is in focus.
bool click_to_collective(Driver& viewer) {
  for (float y = 100; y < 400; y += 8) {
    viewer.click(620, y);
    if (viewer.event().what() == Kind::collective) return true;
  }
  return false;
}

TEST(Exposed, AClickOnARowGoesToTheCollective) {
  for (const int width : {1440, 1024}) {
    Driver viewer("ddp.json.gz", width, width == 1440 ? 900 : 640);
    viewer.go("2");
    viewer.press('h');
    ASSERT_TRUE(click_to_collective(viewer)) << width;
    EXPECT_EQ(viewer.app.trace().state.event,
              viewer.app.trace().collectives.front().event)
        << "the first bucket is the first row";
  }
}

TEST(Exposed, AnyTraceCanBeDrawn) {
  for (const char* name : {"dp.json.gz", "single.json.gz", "../torch_profiler.json"}) {
    Driver viewer(name, 1024, 640);
    viewer.press('h');
    viewer.frame();
    const bool ours = name[0] != '.';
    EXPECT_EQ(viewer.app.trace().collectives.empty(), ours) << name;
  }
}

TEST(NotesOfTabs, OfOneFileAreTheSame) {
  Driver viewer("ddp.json.gz");
  viewer.open("ddp.json.gz");
  viewer.open("dp.json.gz");
  viewer.app.select_trace(1);
  viewer.go("2:backward");
  viewer.press('b');
  const auto notes = [&](size_t tab) {
    return viewer.app.traces()[tab].notes.placed.size();
  };
  EXPECT_EQ(notes(1), 1u);
  EXPECT_EQ(notes(0), 1u) << "another tab of the file";
  EXPECT_EQ(notes(2), 0u) << "another file";
  viewer.app.trace().notes_changed = false;  // saved
  viewer.app.select_trace(0);
  viewer.go("2:backward");
  viewer.press('b');
  EXPECT_EQ(notes(0), 0u);
  EXPECT_EQ(notes(1), 0u);
}

TEST(Keys, TheTableHasEveryKeyOnALineOfItsOwn) {
  const std::string table = key_table();
  const auto lines = std::count(table.begin(), table.end(), '\n');
  EXPECT_EQ(static_cast<size_t>(lines), key_help().size());
  EXPECT_NE(table.find("\n      h                   which bucket"), table.npos)
      << table;
  EXPECT_NE(table.find("Step  → / ←               over"), table.npos) << table;
}

TEST(Title, CountsWorkersAndNamesServersApart) {
  const auto device = [](int n) {
    return R"({"id":)" + std::to_string(n) + R"(,"rank":)" + std::to_string(n) + "}";
  };
  const auto kernel = [](int n) {
    const std::string number = std::to_string(n);
    return R"({"ph":"X","cat":"kernel","name":"k","pid":)" + number +
           R"(,"tid":0,"ts":2,"dur":1,"args":{"step":1,"stream":0,"device":)" + number +
           R"(,"rank":)" + number + "}},";
  };
  const auto step = [](int n) {
    const std::string number = std::to_string(n);
    return R"({"ph":"X","cat":"phase","name":"step","pid":10)" + number +
           R"(,"tid":0,"ts":0,"dur":9,"args":{"step":1,"kind":"train","rank":)" +
           number + "}},";
  };
  const std::string text =
      R"({"lockstep":{"format":1,"mode":"ps","arch":"toy","devices":[)" + device(0) +
      "," + device(1) + "," + device(2) + R"(]},"traceEvents":[)" + step(0) + step(1) +
      kernel(0) + kernel(1) + kernel(2) + "{}]}";
  Driver viewer("");
  viewer.app.open(load_model("ps.json", text));
  EXPECT_EQ(trace_title(viewer.model()),
            "toy · parameter servers · 2 workers, 1 server");
  EXPECT_EQ(why_title(viewer.app.trace()), "WHY NOT 2×?");
}

TEST(Aligned, ABucketIsTheSameBucketOfTheSameRank) {
  const Driver viewer("ddp.json.gz");
  const Model& model = *viewer.app.traces()[0].model;
  int seen = 0;
  for (uint32_t event = 0; event < model.events.size(); ++event) {
    if (model.events[event].what() != Kind::collective) continue;
    if (CollectiveArgs(model, event).facts.bucket < 0) continue;
    const Position there = aligned(model, at_event(model, event), model);
    EXPECT_EQ(event_at(model, there), event);
    ++seen;
  }
  EXPECT_EQ(seen, 6) << "3 ranks, 2 steps";
}

TEST(Timeline, AnotherStepIsShownWholeIfTheLastOneWas) {
  Driver viewer("ddp.json.gz");
  const Step& next = viewer.model().steps.at(1);
  viewer.press(Key::page_down);
  while (viewer.app.trace().state.step == 0) viewer.press(Key::page_down);
  viewer.settled();
  const TimelineView& view = viewer.app.trace().timeline;
  const auto begin = static_cast<double>(next.begin),
             end = static_cast<double>(next.end);
  EXPECT_LT(view.from, begin);
  EXPECT_GT(view.to, end);
  EXPECT_LT(view.to - view.from, 1.2 * (end - begin));
}

}  // namespace
}  // namespace lockstep::gui
