// User input on the timeline: clicks, drags, wheel and keys.
#include <gtest/gtest.h>

#include <algorithm>

#include "gui/panels/timeline_tracks.h"
#include "tests/gui/panels/timeline_stage.h"

namespace lockstep::gui::timeline {
namespace {

TEST(Timeline, BeginsWithTheCurrentStep) {
  Stage stage(small());
  EXPECT_NEAR(stage.view().from, -300e3, 1);
  EXPECT_NEAR(stage.view().to, 10'300e3, 1);
}

TEST(Timeline, AClickOnAnEventGoesThere) {
  Stage stage(small());
  for (const char* name : {"relu", "aten::conv2d", "conv2d_backward_data"}) {
    const uint32_t target = stage.named(name);
    const ImVec2 at = stage.where(target);
    stage.click(at.x, at.y);
    EXPECT_EQ(stage.trace().state.event, target) << name;
    EXPECT_EQ(stage.trace().position.order, Order::program);
  }
}

TEST(Timeline, TheWheelKeepsTheTimeUnderTheMouse) {
  Stage stage(small());
  const float y = stage.cache().plot.y + 40;
  for (const float x : {300.0f, 800.0f, 1100.0f}) {
    stage.move(x, y);
    const double time = stage.time_at(x), length = stage.view().to - stage.view().from;
    stage.wheel(0, 1);
    EXPECT_NEAR(stage.time_at(x), time, 1);
    EXPECT_LT(stage.view().to - stage.view().from, length);
    stage.wheel(0, -1);
    EXPECT_NEAR(stage.view().to - stage.view().from, length, 1);
  }
  for (int i = 0; i < 70; ++i) stage.wheel(0, 1);
  EXPECT_NEAR(20 * (stage.view().to - stage.view().from), stage.cache().plot.w, 1e-3);
  for (int i = 0; i < 80; ++i) stage.wheel(0, -1);
  EXPECT_LE(stage.view().from, 0);
  EXPECT_GE(stage.view().to, 10e6);
  EXPECT_LT(stage.view().to - stage.view().from, 11e6);
}

TEST(Timeline, ScrubbingInTheAxisSetsATimeAndPauses) {
  Stage stage(small());
  stage.app.settings.transport.playing = true;
  const float y = stage.cache().axis.y + 8;
  stage.move(500, y);
  stage.press();
  EXPECT_EQ(stage.trace().position.order, Order::time);
  EXPECT_NEAR(static_cast<double>(stage.trace().position.time), stage.time_at(500), 1);
  EXPECT_FALSE(stage.app.settings.transport.playing);
  const double from = stage.view().from;
  stage.move(700, y + 100);
  EXPECT_NEAR(static_cast<double>(stage.trace().state.now), stage.time_at(700), 1);
  stage.move(5, y);
  EXPECT_EQ(stage.trace().state.now, 0);
  stage.release();
  EXPECT_EQ(stage.view().from, from) << "the view stays while scrubbing";
}

TEST(Timeline, ThePlayheadCanBeDragged) {
  Stage stage(small());
  stage.app.go({Order::time, 9'000'000, 0, 0.5f});
  stage.frame();
  const float x = std::floor(stage.scale().at(9e6)),
              y = stage.cache().plot.bottom() - 3;
  stage.drag({x, y}, {x - 200, y});
  EXPECT_NEAR(static_cast<double>(stage.trace().state.now), stage.time_at(x - 200), 1);
}

TEST(Timeline, DraggingPans) {
  Stage stage(small());
  stage.view().from = 2e6, stage.view().to = 6e6;
  stage.frame();
  for (const int button : {0, 1, 2}) {
    const float y = stage.cache().plot.bottom() - 3;
    const double time = stage.time_at(900);
    stage.drag({900, y}, {800, y}, button);
    EXPECT_NEAR(stage.time_at(800), time, 1) << "button " << button;
  }
  const double from = stage.view().from;
  stage.type(']');
  EXPECT_GT(stage.view().from, from);
  stage.type('[');
  EXPECT_NEAR(stage.view().from, from, 1);
}

TEST(Timeline, KeysZoomUnlessOneTypes) {
  Stage stage(small());
  const double length = stage.view().to - stage.view().from;
  stage.type('w');
  EXPECT_LT(stage.view().to - stage.view().from, length);
  stage.type('s');
  EXPECT_NEAR(stage.view().to - stage.view().from, length, 1);
  stage.app.settings.searching = true;
  stage.type('w');
  EXPECT_NEAR(stage.view().to - stage.view().from, length, 1);
}

TEST(Timeline, TheOverviewMovesTheView) {
  Stage stage(small());
  stage.view().from = 1e6, stage.view().to = 2e6;
  stage.frame();
  const Rect over = stage.cache().overview;
  stage.click(over.x + over.w * 0.75f, over.y + over.h / 2);
  EXPECT_NEAR((stage.view().from + stage.view().to) / 2, 7.5e6, 1e4);
  EXPECT_NEAR(stage.view().to - stage.view().from, 1e6, 1);
}

TEST(Timeline, ShiftAndDragSelectsARange) {
  Stage stage(small());
  stage.screen.modifiers({false, true, false, false});
  const float y = stage.cache().plot.bottom() - 3;
  stage.drag({stage.scale().at(0), y}, {stage.scale().at(6e6), y});
  stage.screen.modifiers({});
  const auto [t0, t1] = stage.view().selected;
  EXPECT_NEAR(static_cast<double>(t0), 0, 1e4);
  EXPECT_NEAR(static_cast<double>(t1), 6e6, 1e4);
  stage.click(stage.scale().at(9.5e6), y);
  EXPECT_EQ(stage.view().selected.first, stage.view().selected.second);
}

TEST(Timeline, FollowsOnlyWhatLeavesTheMiddle) {
  Stage stage(small());
  stage.view().from = 0.5e6, stage.view().to = 3.1e6;
  stage.app.go(at_event(*stage.trace().model, stage.named("conv2d")));
  stage.frame();
  EXPECT_EQ(stage.view().from, 0.5e6) << "already visible: the view stays";
  stage.app.go(at_event(*stage.trace().model, stage.named("conv2d_backward_data")));
  stage.frame();
  EXPECT_NEAR((stage.view().from + stage.view().to) / 2,
              static_cast<double>(stage.trace().state.now), 1);
  stage.type('f');
  const double from = stage.view().from;
  stage.app.go(at_event(*stage.trace().model, stage.named("conv2d")));
  stage.frame();
  EXPECT_EQ(stage.view().from, from);
}

TEST(Timeline, ALabelOpensAndClosesItsThreads) {
  std::vector<std::string> list = {event("call", "main", 0, 0, 0, 100, "")};
  for (int i = 1; i < 9; ++i) {
    for (int depth = 0; depth < 12; ++depth) {
      list.push_back(event("call", "f", 0, i, depth, 100 - depth, ""));
    }
  }
  Stage stage(model_of(list));
  const size_t closed = stage.cache().layout.strips.size();
  const auto group = std::find_if(
      stage.cache().layout.strips.begin(), stage.cache().layout.strips.end(),
      [](const Strip& strip) { return strip.role == Strip::Role::mini; });
  ASSERT_NE(group, stage.cache().layout.strips.end());
  const float y = stage.cache().plot.y + group->y + 2;
  stage.click(stage.cache().labels.x + 20, y);
  EXPECT_EQ(stage.cache().layout.strips.size(), closed + 1) << "a header and threads";
  EXPECT_GT(stage.cache().layout.height, stage.cache().plot.h);
  stage.move(stage.cache().labels.x + 20, y);
  stage.wheel(0, -3);
  EXPECT_GT(stage.view().scroll, 0) << "the rest is reachable by scrolling";
  stage.wheel(0, 30);
  stage.click(stage.cache().labels.x + 20, y);
  EXPECT_EQ(stage.cache().layout.strips.size(), closed);
}

TEST(Timeline, ManyLanesAreReachable) {
  std::vector<std::string> list;
  for (int i = 0; i < 3000; ++i) list.push_back(kernel("k", i, 10.0 * i, 50));
  Stage stage(model_of(list));
  EXPECT_EQ(stage.cache().layout.strips.size(), 3000u);
  stage.view().scroll = 1e9f;
  stage.frame();
  const Strip& last = stage.cache().layout.strips.back();
  EXPECT_LE(last.y + last.height() - stage.view().scroll, stage.cache().plot.h);
  EXPECT_LE(stage.view().primitives, 1500u);
  const uint32_t target = static_cast<uint32_t>(stage.trace().model->events.size() - 1);
  const ImVec2 at = stage.where(target);
  stage.click(at.x, at.y);
  EXPECT_EQ(stage.trace().state.event, target);
}

TEST(Timeline, FollowsThePositionToItsRow) {
  std::vector<std::string> list;
  for (int i = 0; i < 40; ++i) list.push_back(kernel("k", i, 10.0 * i, 50));
  Stage stage(model_of(list));
  for (const uint32_t target : {39u, 0u, 20u, 38u}) {
    stage.app.go(at_event(*stage.trace().model, target));
    for (int i = 0; i < 2; ++i) stage.frame();
    const float y = stage.where(target).y;
    EXPECT_GT(y, stage.cache().plot.y) << target;
    EXPECT_LT(y, stage.cache().plot.bottom()) << target;
  }
}

TEST(Timeline, CutsNoRowAtItsEdges) {
  std::vector<std::string> list;
  for (int i = 0; i < 40; ++i) list.push_back(kernel("k", i, 10.0 * i, 50));
  Stage stage(model_of(list));
  const LaneLayout& layout = stage.cache().layout;
  size_t shown = 0, last_shown = 0;
  for (float scroll = 0; scroll < layout.height; scroll += 7) {
    stage.view().scroll = scroll;
    stage.frame();
    const float top = stage.cache().top, bottom = top + stage.cache().plot.h;
    for (const Strip& strip : layout.strips) {
      const float end = strip.y + strip.row_height;
      if (end <= top || strip.y >= bottom) continue;
      EXPECT_GE(strip.y, top) << scroll;
      EXPECT_LE(end, bottom) << scroll;
      ++shown;
      last_shown += &strip == &layout.strips.back();
    }
  }
  EXPECT_GT(shown, 40u);
  EXPECT_GT(last_shown, 0u);
}

size_t tracks_shown(Stage& stage, Strip::Track what) {
  const auto& strips = stage.cache().layout.strips;
  return static_cast<size_t>(
      std::count_if(strips.begin(), strips.end(), [&](const Strip& strip) {
        return strip.role == Strip::Role::track && strip.track == what;
      }));
}

/// Two devices with memory, and a copy between them.
Model with_memory(const std::string& device) {
  return load_model("made.json", R"({"lockstep":{"format":1,"clock":"measured",
"devices":[{"id":0,"name":")" + device +
                                     R"(:0"},{"id":1,"name":")" + device + R"(:1"}]},
"traceEvents":[
{"ph":"X","cat":"phase","name":"step","pid":0,"tid":0,"ts":0,"dur":500,
 "args":{"id":1,"step":0}},
{"ph":"C","name":"memory","pid":1,"tid":0,"ts":1,"args":{"activations":1}},
{"ph":"X","cat":"op","name":"aten::a","pid":0,"tid":0,"ts":2,"dur":8,"args":{"id":2}},
{"ph":"C","name":"memory","pid":1,"tid":0,"ts":4,"args":{"activations":24}},
{"ph":"X","cat":"kernel","name":"a","pid":1,"tid":0,"ts":100,"dur":100,
 "args":{"id":4,"op":2,"device":0,"stream":0,"memory_counters":2}},
{"ph":"X","cat":"copy","name":"scatter","pid":2,"tid":1,"ts":220,"dur":100,
 "args":{"id":5,"op":2,"device":1,"stream":1,"src":0,"dst":1,"bytes":4096,
 "why":"scatter"}}]})");
}

TEST(TimelineTracks, AKeyAndTheTitleSwitchThem) {
  Stage stage(with_memory("cpu"));
  EXPECT_EQ(tracks_shown(stage, Strip::Track::memory), 0u);
  stage.type('u');
  EXPECT_EQ(tracks_shown(stage, Strip::Track::busy), 1u);
  EXPECT_EQ(tracks_shown(stage, Strip::Track::memory), 1u) << "one device has counters";
  EXPECT_EQ(tracks_shown(stage, Strip::Track::port), 2u);
  const Ui ui(stage.app.theme(), stage.screen.fonts());
  const ImVec2 at = tracks_switch(ui, {0, 0, 1280, 300}).centre();
  stage.click(at.x, at.y);
  EXPECT_EQ(tracks_shown(stage, Strip::Track::busy), 0u);
  stage.click(at.x, at.y);
  EXPECT_EQ(tracks_shown(stage, Strip::Track::busy), 1u);
}

TEST(TimelineTracks, NullDevicesHaveNoBusyAndNoPorts) {
  Stage stage(with_memory("null"));
  stage.type('u');
  EXPECT_EQ(tracks_shown(stage, Strip::Track::busy), 0u);
  EXPECT_EQ(tracks_shown(stage, Strip::Track::port), 0u);
  EXPECT_EQ(tracks_shown(stage, Strip::Track::memory), 1u);
}

TEST(TimelineTracks, AClickOnThePeakGoesToTheOpThatAllocatedIt) {
  Stage stage(with_memory("cpu"));
  stage.type('u');
  stage.app.go(Position{Order::time, 150'000, 0, 0.5f, 0});
  stage.frame();
  const auto& strips = stage.cache().layout.strips;
  const auto memory = std::find_if(strips.begin(), strips.end(), [](const Strip& s) {
    return s.role == Strip::Role::track && s.track == Strip::Track::memory;
  });
  ASSERT_NE(memory, strips.end());
  const float y = stage.cache().plot.y + memory->y - stage.view().scroll + 5;
  stage.click(stage.scale().at(100e3), y);
  EXPECT_EQ(stage.trace().state.event, stage.named("aten::a"));
}

TEST(TimelineTracks, SurviveEveryZoom) {
  Stage stage(with_memory("cpu"));
  stage.type('u');
  for (int i = 0; i < 40; ++i) {  // down to nanoseconds; nothing may go wrong
    stage.move(700, 150);
    stage.wheel(0, i < 30 ? 3.0f : -6.0f);
    stage.move(600 + 10 * static_cast<float>(i), 100 + 5 * static_cast<float>(i));
  }
}

// A host's wait is drawn once, however far it reaches beyond the view.
TEST(Timeline, AWaitThatReachesBeyondTheViewIsDrawnOnce) {
  Stage stage(model_of({
      event("phase", "step", 0, 0, 0, 10'000, R"("id":1,"step":0)"),
      event("op", "aten::item", 0, 0, 100, 9'800, R"("id":2,"step":0)"),
      event("sync", "synchronize", 0, 0, 150, 9'700, R"("id":3,"step":0)"),
      kernel("conv2d", 0, 1000, 2000, R"(,"id":4,"op":2)"),
  }));
  for (const double length : {1e6, 1e4, 100.0}) {
    stage.view().from = 5e6;
    stage.view().to = 5e6 + length;
    stage.view().follow = false;
    stage.frame();
    EXPECT_LE(stage.view().primitives, 200u) << length << " ns";
  }
}

TEST(Timeline, SurvivesOddTraces) {
  const std::vector<std::vector<std::string>> traces = {
      {event("op", "one", 0, 0, 5, 3, "")},
      {event("op", "point", 0, 0, 5, 0, "")},
      {event("op", "back", 0, 0, 5, -7, ""), event("op", "later", 0, 0, 9, 1, "")},
      {event("op", "a", 0, 0, 0, 10, ""), event("op", "b", 0, 0, 5, 10, ""),
       event("op", "c", 0, 0, 7, 10, "")},
      {kernel("only", 3, 0, 1e9)},
  };
  for (const auto& trace : traces) {
    Stage stage(model_of(trace));
    for (int i = 0; i < 12; ++i) {
      stage.move(200.0f + 80 * static_cast<float>(i), 90);
      stage.wheel(0, static_cast<float>(i % 5 - 2) * 4);
      stage.click(180.0f + 60 * static_cast<float>(i),
                  60.0f + 15 * static_cast<float>(i));
    }
    EXPECT_LT(stage.view().from, stage.view().to);
    EXPECT_GT(stage.view().primitives, 0u);
    stage.screen.resize(180, 40);
    stage.frame();
    stage.screen.resize(400, 110);
    stage.frame();
  }
}

TEST(Timeline, ViewsThatMakeNoSenseAreMended) {
  Stage stage(small());
  for (const auto& [from, to] : {std::pair(5.0, 1.0), std::pair(-1e300, 1e300),
                                 std::pair(std::nan(""), 1.0), std::pair(1e18, 2e18)}) {
    stage.view().from = from, stage.view().to = to;
    stage.frame();
    EXPECT_LT(stage.view().from, stage.view().to);
    EXPECT_LT(stage.view().from, 10e6);
    EXPECT_GT(stage.view().to, 0);
  }
}

}  // namespace
}  // namespace lockstep::gui::timeline
