// The viewer driven through ImGui's input like a user.
#include <algorithm>
#include <random>
#include <set>

#include "gui/model/details.h"
#include "gui/model/narration.h"
#include "tests/gui/app/driver.h"

namespace lockstep::gui {
namespace {

TEST(Keys, StepFromTheStepDownToOneConvolution) {
  Driver viewer;
  EXPECT_EQ(viewer.name(), "step");
  viewer.go("2:forward");
  // Steps into calls until a convolution's kernel is reached.
  int presses = 0;
  while (viewer.name() != "aten::conv2d" && ++presses < 200) viewer.press(Key::down);
  EXPECT_EQ(viewer.name(), "aten::conv2d");
  std::vector<std::string> chain;
  for (const uint32_t caller : viewer.app.trace().state.stack) {
    chain.push_back(viewer.model().name_of(viewer.model().events[caller]));
  }
  for (const char* caller :
       {"step", "forward", "DataParallel.__call__", "Module._call_impl",
        "DataParallel.forward", "VGG.__call__", "VGG.forward", "Conv2d.__call__",
        "Conv2d.forward"}) {
    EXPECT_NE(std::find(chain.begin(), chain.end(), caller), chain.end()) << caller;
  }
  viewer.press(Key::down);
  EXPECT_EQ(viewer.event().what(), Kind::kernel);
  viewer.press(Key::up);
  EXPECT_EQ(viewer.name(), "aten::conv2d");
}

/// The text of the viewer's trace, as of a run that failed in event `id`.
std::string failed_in(Driver& viewer, int64_t id) {
  std::string text(viewer.model().text);
  const size_t open = text.find('{', text.find("\"lockstep\"")) + 1;
  text.insert(open, R"("failure":{"error":"size mismatch, m1: [400 x 512]","event":)" +
                        std::to_string(id) + "},");
  return text;
}

void open_text(Driver& viewer, std::string text) {
  const auto owned = std::make_shared<const std::string>(std::move(text));
  viewer.app.begin_loading("failed", *owned, owned);
  viewer.app.finish_loading();
  viewer.settled();
}

std::string narration(Driver& viewer) {
  const OpenTrace& trace = viewer.app.trace();
  return narrate(*trace.model, trace.state, trace.step).text;
}

TEST(FailedRun, OpensAtTheFailingCallAndSaysTheError) {
  Driver viewer;
  viewer.go("2:Linear.forward");
  EXPECT_EQ(viewer.model().failed, kNoEvent);
  const int64_t id = int_arg(args_of(viewer.model(), viewer.event()), keys::id, -1);
  open_text(viewer, failed_in(viewer, id));
  EXPECT_EQ(viewer.name(), "Linear.forward");
  EXPECT_EQ(viewer.model().failed, viewer.app.trace().state.event);
  EXPECT_EQ(narration(viewer),
            "**The run failed here.** size mismatch, m1: [400 x 512]");
  viewer.press(Key::up);
  EXPECT_EQ(narration(viewer).find("failed"), std::string::npos);
}

TEST(FailedRun, WithoutTheEventOpensAtForward) {
  Driver viewer;
  open_text(viewer, failed_in(viewer, 99'999'999));
  EXPECT_EQ(viewer.name(), "forward");
  EXPECT_EQ(viewer.model().failed, kNoEvent);
  EXPECT_EQ(viewer.model().failure, "size mismatch, m1: [400 x 512]");
}

TEST(Keys, OverAndBack) {
  Driver viewer;
  viewer.go("2:scatter");
  const uint32_t scatter = viewer.place();
  viewer.press(Key::right);
  EXPECT_EQ(viewer.name(), "replicate");
  viewer.press(Key::left);
  EXPECT_EQ(viewer.place(), scatter);
  viewer.press(Key::right, kShift);  // steps out of DataParallel.forward
  EXPECT_GT(viewer.place(), scatter);
  EXPECT_NE(viewer.name(), "replicate");
}

TEST(Keys, JumpsAndChoices) {
  Driver viewer;
  viewer.press('m');
  EXPECT_EQ(viewer.event().what(), Kind::copy);
  viewer.press('p');
  EXPECT_EQ(viewer.event().what(), Kind::phase);
  viewer.press(Key::page_up);
  EXPECT_EQ(viewer.name(), "step");
  viewer.press(Key::end);
  EXPECT_EQ(viewer.place() + 1, viewer.model().program.size());
  viewer.press(Key::home);
  EXPECT_EQ(viewer.place(), 0u);

  viewer.press('t');
  EXPECT_FALSE(viewer.app.settings.dark);
  viewer.press('c');
  EXPECT_TRUE(viewer.app.settings.cpp_names);
  viewer.press('/', kShift);
  EXPECT_TRUE(viewer.app.settings.help);
  viewer.press(Key::escape);
  EXPECT_FALSE(viewer.app.settings.help);
  viewer.app.settings.search = "conv2d";
  viewer.press('/', kShift);
  viewer.press(Key::escape);
  EXPECT_EQ(viewer.app.settings.search, "conv2d") << "esc has closed the list of keys";
  viewer.press(Key::escape);
  EXPECT_EQ(viewer.app.settings.search, "");
  viewer.press('o');
  EXPECT_EQ(viewer.app.trace().position.order, Order::time);
}

TEST(Keys, TimeOrderIsPlayedThoughTheDirectorHasAnOrderOfItsOwn) {
  Driver viewer;
  ASSERT_EQ(viewer.app.settings.transport.pace, Pace::director);
  viewer.press(Key::space);
  viewer.press('o');
  EXPECT_EQ(viewer.app.settings.transport.pace, Pace::even);
  EXPECT_NE(viewer.app.message.find("time order"), std::string::npos);
  for (int i = 0; i < 3; ++i) viewer.frame(0.1f);
  EXPECT_EQ(viewer.app.trace().position.order, Order::time);
  viewer.press('o');
  EXPECT_EQ(viewer.app.trace().position.order, Order::program);
}

TEST(Keys, BookmarksAreVisitedInTurn) {
  Driver viewer;
  viewer.go("2:backward");
  viewer.press('b');
  viewer.go("2:scatter");
  viewer.press('b');
  viewer.press(Key::home);
  viewer.press('b', kShift);
  EXPECT_EQ(viewer.name(), "scatter");
  viewer.press('b', kShift);
  EXPECT_EQ(viewer.name(), "backward");
}

TEST(Search, TypedNamesAreFound) {
  Driver viewer;
  viewer.press('/');
  EXPECT_TRUE(viewer.app.settings.searching);
  viewer.frame();
  viewer.screen.text("max_pool");
  viewer.frame();
  viewer.press(Key::enter);
  EXPECT_FALSE(viewer.app.settings.searching);
  EXPECT_NE(viewer.name().find("max_pool"), std::string::npos) << viewer.name();
  const uint32_t first = viewer.place();
  viewer.press('n');
  EXPECT_NE(viewer.place(), first);
  viewer.press('n', kShift);
  EXPECT_EQ(viewer.place(), first);
}

/// The state, and so the picture, depends only on the position.
TEST(Pictures, ForwardAndBackAgainIsTheSamePicture) {
  Driver viewer("single.json.gz", 1024, 700);
  std::mt19937 random(7);
  const auto places = static_cast<uint32_t>(viewer.model().program.size());
  for (int round = 0; round < 200; ++round) {
    const uint32_t start = random() % places;
    const int n = 1 + static_cast<int>(random() % 12);
    if (start + static_cast<uint32_t>(n) >= places) continue;
    viewer.app.go(at_event(viewer.model(), viewer.model().program[start]));
    viewer.frame();
    const std::vector<uint32_t> before = viewer.frame().pixels;
    for (int i = 0; i < n; ++i) viewer.app.move(Move::into);
    viewer.frame();
    for (int i = 0; i < n; ++i) viewer.app.move(Move::back);
    viewer.settled();
    ASSERT_EQ(viewer.place(), start);
    ASSERT_TRUE(viewer.frame().pixels == before) << "from " << start << ", " << n;
  }
}

TEST(Window, AnySizeDrawsInsideItself) {
  Driver viewer;
  viewer.go("2:replicate");
  for (const auto& [width, height] :
       {std::pair(640, 480), {1024, 700}, {1280, 800}, {2560, 1440}, {3840, 2160}}) {
    viewer.screen.resize(width, height);
    viewer.frame();
    viewer.frame();
    const ImDrawData* data = viewer.screen.draw_data();
    EXPECT_GT(data->TotalVtxCount, 500);
    EXPECT_LT(data->TotalVtxCount, 120'000);
  }
}

TEST(Loading, GoesOnInSlicesAndMayBeAbandoned) {
  Offscreen screen(800, 600);
  const tracer::FileText text = tracer::open_file_text(golden("dp.json.gz"));
  for (const bool abandon : {true, false}) {
    App app(screen.fonts());
    app.begin_loading("dp", text.text, text.owner);
    EXPECT_TRUE(app.is_loading());
    for (int i = 0; i < 50 && app.is_loading(); ++i) {
      screen.frame([&] { app.frame({0, 0, 800, 600}, 0.016f); }, 0);
      if (abandon) break;  // closed during loading
    }
    EXPECT_TRUE(abandon || app.has_trace());
  }
}

TEST(Loading, SeveralFilesShowTheFirstAndOneOpenedByHandItself) {
  Driver viewer("");
  const auto load = [&](const char* name, bool shown) {
    const tracer::FileText text = tracer::open_file_text(golden(name));
    viewer.app.begin_loading(name, text.text, text.owner, shown);
    viewer.app.finish_loading();
    return viewer.app.trace().model->name;
  };
  EXPECT_EQ(load("dp.json.gz", false), "dp.json.gz");
  EXPECT_EQ(viewer.name(), "forward");
  EXPECT_EQ(load("single.json.gz", false), "dp.json.gz");
  EXPECT_EQ(load("ddp.json.gz", true), "ddp.json.gz");
  EXPECT_EQ(viewer.app.traces().size(), 3u);
}

TEST(Loading, WhatCannotBeReadIsSaidAndTheRestStays) {
  Driver viewer;
  viewer.app.begin_loading("poem.txt", "Two roads diverged", nullptr);
  EXPECT_NE(viewer.app.error.find("poem.txt"), std::string::npos);
  EXPECT_TRUE(viewer.app.has_trace());
  viewer.frame();

  Offscreen screen(800, 600);
  App empty(screen.fonts());
  empty.fail("poem.txt is not a trace");
  empty.recent = {"a.json", "b.json"};
  screen.frame([&] { empty.frame({0, 0, 800, 600}, 0); }, 0);
  EXPECT_GT(screen.draw_data()->TotalVtxCount, 500);
}

TEST(Loading, ADamagedFileIsShownAndSaysSo) {
  const tracer::FileText whole = tracer::open_file_text(golden("single.json.gz"));
  Driver viewer("");
  viewer.app.open(
      load_model("cut.json", std::string(whole.text.substr(0, whole.text.size() / 2))));
  ASSERT_EQ(viewer.model().problems.size(), 1u);
  EXPECT_NE(viewer.model().problems[0].find("damaged"), std::string::npos);
  const std::vector<uint32_t> warned = viewer.settled().pixels;
  viewer.click(600, 48 + 9 + 14);
  EXPECT_TRUE(viewer.app.trace().problems_seen);
  EXPECT_FALSE(viewer.frame().pixels == warned);
}

TEST(Comparing, TheOthersFollow) {
  Driver viewer("single.json.gz");
  viewer.open("dp.json.gz");
  viewer.press('d');
  ASSERT_TRUE(viewer.app.settings.compare);
  viewer.go("2:backward");
  for (OpenTrace& trace : viewer.app.traces()) {
    const Model& model = *trace.model;
    EXPECT_EQ(model.name_of(model.events[trace.state.event]), "backward");
  }
  viewer.go("2:replicate");  // `single` does not replicate: it stays in the same step
  const OpenTrace& single = viewer.app.traces()[0];
  EXPECT_EQ(single.model->steps[single.state.step].number, 2u);
}

TEST(Mouse, ClicksGoWhereTheyPoint) {
  Driver viewer;
  viewer.go("2:forward");
  const uint32_t before = viewer.place();
  viewer.click(60, 48 + 9 + 31 + 3 + 10);  // the outermost call: the step
  EXPECT_EQ(viewer.name(), "step");
  EXPECT_NE(viewer.place(), before);
}

TEST(Tour, HasFiveCards) {
  Driver viewer;
  viewer.app.settings.tour = 1;
  for (int card = 1; card <= 5; ++card) {
    viewer.frame();
    EXPECT_EQ(viewer.app.settings.tour, card);
    viewer.press(Key::enter);
  }
  viewer.frame();
  EXPECT_EQ(viewer.app.settings.tour, 0);
}

TEST(Keys, EachHasOneMeaning) {
  std::set<std::string> keys;
  for (const KeyHelp& help : key_help()) {
    EXPECT_TRUE(keys.insert(help.keys).second) << help.keys;
  }
}

TEST(BrokenLaw, IsSaidAndGGoesToItsEvent) {
  Driver viewer;
  EXPECT_EQ(viewer.app.trace().verdict.state, Verdict::State::holds);
  EXPECT_TRUE(viewer.model().problems.empty());
  const uint32_t at_first = viewer.app.trace().state.event;
  viewer.press('g');
  EXPECT_EQ(viewer.app.trace().state.event, at_first) << "nothing is broken";

  open_text(viewer, tracer::read_whole_file(std::string(LOCKSTEP_SOURCE_DIR) +
                                            "/tests/golden/damaged/gather-bytes."
                                            "bytes.json"));
  ASSERT_EQ(viewer.app.trace().verdict.state, Verdict::State::broken);
  ASSERT_FALSE(viewer.model().problems.empty());
  EXPECT_TRUE(
      viewer.model().problems.back().starts_with("breaks the law `copy-bytes`: "))
      << viewer.model().problems.back();
  viewer.press('g');
  const auto& violations = viewer.app.trace().verdict.violations;
  EXPECT_TRUE(std::any_of(violations.begin(), violations.end(),
                          [&](const auto& broken) {
                            return broken.event == viewer.app.trace().state.event;
                          }))
      << viewer.name();
  EXPECT_NE(viewer.app.trace().state.event, viewer.model().steps.front().event);
}

}  // namespace
}  // namespace lockstep::gui
