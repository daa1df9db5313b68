// Playing: an even pace, real time, and the director's.
#include "gui/model/narration.h"
#include "tests/gui/app/driver.h"

namespace lockstep::gui {
namespace {

TEST(Playing, SpacePlaysAndPauses) {
  Driver viewer("dp.json.gz", 640, 480);
  viewer.app.settings.transport.pace = Pace::even;
  const uint32_t begin = viewer.place();
  viewer.press(Key::space);
  EXPECT_TRUE(viewer.app.settings.transport.playing);
  for (int i = 0; i < 20; ++i) viewer.frame(0.1f);
  EXPECT_EQ(viewer.place(), begin + 8);  // 2 s at 4 events per second
  viewer.press(Key::space);
  EXPECT_FALSE(viewer.app.settings.transport.playing);
  const uint32_t paused = viewer.place();
  for (int i = 0; i < 20; ++i) viewer.frame(0.1f);
  EXPECT_EQ(viewer.place(), paused);
}

TEST(Playing, TheLoopStaysInItsStep) {
  for (const Pace pace : {Pace::director, Pace::even, Pace::real}) {
    Driver viewer("dp.json.gz", 640, 480);
    viewer.app.settings.transport.pace = pace;
    viewer.app.settings.transport.loop = true;
    viewer.app.settings.transport.playing = true;
    viewer.app.settings.transport.speed = 256;
    const auto step = viewer.event().step;
    for (int i = 0; i < 10; ++i) {
      viewer.frame(0.3f);
      EXPECT_EQ(viewer.model().steps[viewer.app.trace().state.step].number, step);
    }
    EXPECT_TRUE(viewer.app.settings.transport.playing);
  }
}

TEST(Playing, EndsAtTheEnd) {
  Driver viewer("dp.json.gz", 640, 480);
  viewer.app.settings.transport.pace = Pace::even;
  for (const Order order : {Order::program, Order::time}) {
    viewer.press(Key::home);
    if (order == Order::time) viewer.press('o');
    viewer.app.settings.transport.playing = true;
    viewer.app.settings.transport.speed = 1024;
    for (int i = 0; i < 200 && viewer.app.settings.transport.playing; ++i) {
      viewer.frame(0.1f);
    }
    EXPECT_FALSE(viewer.app.settings.transport.playing);
  }
}

/// Plays a tenth of a second at the director's pace, without drawing it.
void play_on(Driver& viewer) {
  App& app = viewer.app;
  app.go(directed(app.trace(), app.settings.transport, 0.1f));
  direct_timeline(app.trace(), 0.1f);
}

void play(Driver& viewer, float seconds) {
  viewer.app.settings.transport.playing = true;
  for (float at = 0; at < seconds - 0.01f; at += 0.1f) play_on(viewer);
}

TEST(Director, IsTheDefaultAndEndsWithTheStep) {
  Driver viewer("ddp.json.gz", 640, 480);
  EXPECT_EQ(viewer.app.settings.transport.pace, Pace::director);
  const auto step = viewer.event().step;
  viewer.press(Key::space);
  float seconds = 0;
  bool in_time = false;
  while (viewer.app.settings.transport.playing && seconds < 60) {
    play_on(viewer);
    seconds += 0.1f;
    in_time |= viewer.app.trace().position.order == Order::time;
    EXPECT_EQ(viewer.model().steps[viewer.app.trace().state.step].number, step);
  }
  EXPECT_GE(seconds, 40);
  EXPECT_LE(seconds, 50);
  EXPECT_TRUE(in_time);
  const Event& whole = viewer.model().events[viewer.model().steps[0].event];
  EXPECT_EQ(viewer.place() + 1, whole.last);
  viewer.press(Key::space);  // the next step
  play(viewer, 1);
  EXPECT_EQ(viewer.app.trace().state.step, 1u);
}

TEST(Director, JoinsWhereTheUserIs) {
  Driver viewer("dp.json.gz", 640, 480);
  viewer.go("2:backward");
  const uint32_t begin = viewer.place();
  play(viewer, 0.1f);
  EXPECT_EQ(viewer.place(), begin);
  viewer.go("2:scatter");  // also while it plays
  const uint32_t scatter = viewer.place();
  EXPECT_EQ(viewer.place(), scatter);
  play(viewer, 0.1f);
  EXPECT_EQ(viewer.name(), "scatter");
  play(viewer, 12);
  EXPECT_GT(viewer.place(), scatter);
}

TEST(Director, GoesOnWhereItPaused) {
  Driver steady("dp.json.gz", 640, 480), pausing("dp.json.gz", 640, 480);
  play(steady, 20);
  play(pausing, 9);
  pausing.press(Key::space);
  EXPECT_FALSE(pausing.app.settings.transport.playing);
  pausing.press(Key::space);
  play(pausing, 11);
  EXPECT_EQ(pausing.place(), steady.place());
}

TEST(Director, SpeedKeysScaleIt) {
  Driver once("dp.json.gz", 640, 480), twice("dp.json.gz", 640, 480);
  twice.press('=');
  play(once, 12);
  play(twice, 6);
  EXPECT_EQ(once.place(), twice.place());
}

/// Collapsed repeats are counted, and the slow-down is said where time order is played.
TEST(Director, SaysWhatItLeavesOutAndHowSlowItIs) {
  Driver viewer("ddp.json.gz", 640, 480);
  viewer.app.settings.transport.playing = true;
  size_t counted = 0, slowed = 0;
  for (int i = 0; i < 440; ++i) {
    play_on(viewer);
    const OpenTrace& trace = viewer.app.trace();
    const Transport& transport = viewer.app.settings.transport;
    const std::string said = caption_now(trace, transport).text;
    const bool in_time = trace.position.order == Order::time;
    const bool says_rate = said.find("real time") != said.npos;
    EXPECT_EQ(says_rate, in_time) << said;
    EXPECT_EQ(pace_text(trace, transport).find("real time") != said.npos, in_time);
    slowed += says_rate;
    counted += said.find(" ×") != said.npos;
  }
  EXPECT_GT(slowed, 10u);
  EXPECT_GT(counted, 1u);
  viewer.press(Key::space);
  EXPECT_EQ(caption_now(viewer.app.trace(), viewer.app.settings.transport).text, "");
}

TEST(Director, NarratesWhatItPlaysInFull) {
  Driver viewer("dp.json.gz", 640, 480);
  viewer.go("2:scatter");
  play(viewer, 0.5f);
  const OpenTrace& trace = viewer.app.trace();
  const Caption caption = caption_now(trace, viewer.app.settings.transport);
  EXPECT_EQ(caption.text, "");
  EXPECT_EQ(caption.says, trace.state.event);
}

TEST(Director, ZoomsTheTimelineToThePhase) {
  Driver viewer("dp.json.gz", 640, 480);
  viewer.go("2:scatter");
  const double before =
      viewer.app.trace().timeline.to - viewer.app.trace().timeline.from;
  play(viewer, 1.5f);
  const TimelineView& view = viewer.app.trace().timeline;
  EXPECT_LT(view.to - view.from, before / 2);
  const Event& phase = viewer.event();
  const double before_phase = static_cast<double>(phase.ts) - view.from;
  EXPECT_GT(before_phase, 0);
  EXPECT_LT(before_phase, 0.1 * (view.to - view.from));
  EXPECT_GT(view.to, static_cast<double>(phase.end()));
}

TEST(Director, KeyEGoesThroughThePaces) {
  Driver viewer("dp.json.gz", 640, 480);
  std::vector<Pace> paces;
  for (int i = 0; i < 3; ++i) {
    viewer.press('e');
    paces.push_back(viewer.app.settings.transport.pace);
  }
  EXPECT_EQ(paces, (std::vector<Pace>{Pace::even, Pace::real, Pace::director}));
}

}  // namespace
}  // namespace lockstep::gui
