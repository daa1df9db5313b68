// The timeline, driven with mouse and keys, and what it draws.
#include "gui/panels/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <random>
#include <string>

#include "gui/panels/timeline_parts.h"
#include "gui/render/offscreen.h"

namespace lockstep::gui {
namespace {

std::string event(const char* cat, const std::string& name, int pid, int tid, double ts,
                  double dur, const std::string& args) {
  return R"({"ph":"X","cat":")" + std::string(cat) + R"(","name":")" + name +
         R"(","pid":)" + std::to_string(pid) + R"(,"tid":)" + std::to_string(tid) +
         R"(,"ts":)" + std::to_string(ts) + R"(,"dur":)" + std::to_string(dur) +
         R"(,"args":{)" + args + "}}";
}

std::string kernel(const std::string& name, int device, double ts, double dur,
                   const std::string& more = "") {
  return event("kernel", name, 1 + device, 0, ts, dur,
               R"("device":)" + std::to_string(device) + R"(,"stream":0)" + more);
}

Model model_of(const std::vector<std::string>& events) {
  std::string json;
  for (const std::string& text : events) json += (json.empty() ? "" : ",") + text;
  return load_model("made.json", R"({"traceEvents":[)" + json + "]}");
}

/// One step of 10 ms: a call on the host, and kernels on two devices.
Model small() {
  return model_of({
      event("phase", "step", 0, 0, 0, 10'000, R"("id":1,"step":0)"),
      event("op", "aten::conv2d", 0, 0, 100, 200, R"("id":2,"step":0)"),
      kernel("conv2d", 0, 1000, 2000, R"(,"id":3,"op":2)"),
      kernel("relu", 0, 4000, 500, R"(,"id":4,"op":2)"),
      event("op", "ConvolutionBackward0", 0, 0, 4600, 200, R"("id":5,"fwd":2)"),
      kernel("conv2d_backward_data", 1, 5000, 3000, R"(,"id":6,"op":5,"deps":[4])"),
  });
}

class Stage {
 public:
  explicit Stage(Model model, int width = 1280, int height = 300)
      : screen(width, height), app(screen.fonts()) {
    app.open(std::move(model));
    frame();
  }

  const Image& frame() {
    return screen.frame(
        [&] {
          const ImVec2 size = ImGui::GetIO().DisplaySize;
          ImGui::SetNextWindowPos({0, 0});
          ImGui::SetNextWindowSize(size);
          ImGui::Begin("window", nullptr,
                       ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                           ImGuiWindowFlags_NoScrollWithMouse);
          timeline_keys(app);
          Ui ui(app.theme(), screen.fonts());
          ui.list = ImGui::GetWindowDrawList();
          const int before = ui.list->VtxBuffer.Size;
          draw_timeline(ui, {0, 0, size.x, size.y}, app);
          vertices = ui.list->VtxBuffer.Size - before;
          ImGui::End();
        },
        app.theme().ground);
  }

  void move(float x, float y) {
    screen.mouse(x, y);
    frame();
  }
  void press(int button = 0) {
    screen.button(button, true);
    frame();
  }
  void release(int button = 0) {
    screen.button(button, false);
    frame();
  }
  void click(float x, float y) {
    move(x, y);
    press();
    release();
  }
  void drag(ImVec2 from, ImVec2 to, int button = 0) {
    move(from.x, from.y);
    press(button);
    move(to.x, to.y);
    release(button);
  }
  void wheel(float x, float y) {
    screen.wheel(x, y);
    frame();
  }
  void type(char key) {
    screen.key(key_of(key), true);
    frame();
    screen.key(key_of(key), false);
    frame();
  }

  Seat& seat() { return app.seat(); }
  TimelineView& view() { return seat().timeline; }
  const TimelineCache& cache() { return *view().cache; }
  Scale scale() {
    return {view().from, view().to, cache().plot.x, cache().plot.w};
  }
  uint32_t named(const std::string& name) {
    const Model& model = *seat().model;
    for (uint32_t i = 0; i < model.events.size(); ++i) {
      if (model.name_of(model.events[i]) == name) return i;
    }
    return kNoEvent;
  }
  /// The middle of an event's box.
  ImVec2 where(uint32_t index) {
    const Event& e = seat().model->events[index];
    const Strip& strip =
        cache().layout.strips[cache().layout.strip_of_lane[e.lane]];
    return {scale().at(static_cast<double>(e.ts + e.dur / 2)),
            cache().plot.y + strip.y - view().scroll +
                static_cast<float>(e.row) * strip.pitch + strip.row_height / 2};
  }
  double time_at(float x) { return scale().ns(x); }

  Offscreen screen;
  App app;
  int vertices = 0;
};

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
    EXPECT_EQ(stage.seat().state.event, target) << name;
    EXPECT_EQ(stage.seat().position.order, Order::program);
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
  for (int i = 0; i < 200; ++i) stage.wheel(0, 1);
  EXPECT_NEAR(20 * (stage.view().to - stage.view().from), stage.cache().plot.w, 1e-3);
  for (int i = 0; i < 400; ++i) stage.wheel(0, -1);
  EXPECT_LE(stage.view().from, 0);
  EXPECT_GE(stage.view().to, 10e6);
  EXPECT_LT(stage.view().to - stage.view().from, 11e6);
}

TEST(Timeline, ScrubbingInTheAxisSetsATimeAndPauses) {
  Stage stage(small());
  stage.app.choices.transport.playing = true;
  const float y = stage.cache().axis.y + 8;
  stage.move(500, y);
  stage.press();
  EXPECT_EQ(stage.seat().position.order, Order::time);
  EXPECT_NEAR(static_cast<double>(stage.seat().position.time), stage.time_at(500), 1);
  EXPECT_FALSE(stage.app.choices.transport.playing);
  const double from = stage.view().from;
  stage.move(700, y + 100);
  EXPECT_NEAR(static_cast<double>(stage.seat().state.now), stage.time_at(700), 1);
  stage.move(5, y);
  EXPECT_EQ(stage.seat().state.now, 0);
  stage.release();
  EXPECT_EQ(stage.view().from, from) << "the view stays while one scrubs";
}

TEST(Timeline, ThePlayheadCanBeDragged) {
  Stage stage(small());
  stage.app.go({Order::time, 9'000'000, 0, 0.5f});
  stage.frame();
  const float x = std::floor(stage.scale().at(9e6)), y = stage.cache().plot.bottom() - 3;
  stage.drag({x, y}, {x - 200, y});
  EXPECT_NEAR(static_cast<double>(stage.seat().state.now), stage.time_at(x - 200), 1);
}

TEST(Timeline, DraggingPans) {
  Stage stage(small());
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
  stage.app.choices.searching = true;
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

TEST(Timeline, ARangeIsSummedUp) {
  const Model model = small();
  const auto lines = range_lines(model, build_lod(model), 0, 6'000'000);
  const std::vector<std::string> expected = {
      "6.00 ms\t6 events", "device 0 busy\t42 %",      "device 1 busy\t17 %",
      "conv2d\t2.00 ms",   "← conv2d data\t1.00 ms", "relu\t500 µs"};
  EXPECT_EQ(lines, expected);
}

TEST(Timeline, FollowsOnlyWhatLeavesTheMiddle) {
  Stage stage(small());
  stage.view().from = 0.9e6, stage.view().to = 3.1e6;
  stage.app.go(at_event(*stage.seat().model, stage.named("conv2d")));
  stage.frame();
  EXPECT_EQ(stage.view().from, 0.9e6) << "in sight: nothing moves";
  stage.app.go(at_event(*stage.seat().model, stage.named("conv2d_backward_data")));
  stage.frame();
  EXPECT_NEAR((stage.view().from + stage.view().to) / 2,
              static_cast<double>(stage.seat().state.now), 1);
  stage.type('f');
  const double from = stage.view().from;
  stage.app.go(at_event(*stage.seat().model, stage.named("conv2d")));
  stage.frame();
  EXPECT_EQ(stage.view().from, from);
}

TEST(Timeline, FlowsLeadToCausesAndWaits) {
  const Model model = small();
  const auto find = [&](const char* name) {
    return static_cast<uint32_t>(
        std::find_if(model.events.begin(), model.events.end(),
                     [&](const Event& e) { return model.name_of(e) == name; }) -
        model.events.begin());
  };
  const auto has = [](const std::vector<Flow>& flows, Flow::Why why, uint32_t from,
                      uint32_t to) {
    return std::any_of(flows.begin(), flows.end(), [&](const Flow& flow) {
      return flow.why == why && flow.from == from && flow.to == to;
    });
  };
  const uint32_t op = find("aten::conv2d"), back = find("ConvolutionBackward0");
  const uint32_t data = find("conv2d_backward_data");
  const auto of_op = flows_of(model, op);
  EXPECT_EQ(of_op.size(), 2u);
  EXPECT_TRUE(has(of_op, Flow::Why::caused, op, find("conv2d")));
  const auto of_data = flows_of(model, data);
  EXPECT_EQ(of_data.size(), 2u);
  EXPECT_TRUE(has(of_data, Flow::Why::caused, back, data));
  EXPECT_TRUE(has(of_data, Flow::Why::waited, find("relu"), data));
  EXPECT_TRUE(has(flows_of(model, back), Flow::Why::forward, op, back));
}

/// Calls in calls on 6 threads and short kernels on 12 devices.
Model dense(size_t events) {
  std::vector<std::string> list;
  std::mt19937 random(3);
  double at = 0;
  while (list.size() < events) {
    at += 2;
    for (int i = 0; i < 6; ++i) {
      list.push_back(event("call", "f", 0, i, at, 1.5, ""));
      list.push_back(event("op", "g", 0, i, at + 0.2, 1, ""));
    }
    for (int i = 0; i < 12; ++i) {
      const char* names[] = {"conv2d", "relu", "add"};
      const double dur = 0.2 + 0.1 * static_cast<double>(random() % 16);
      list.push_back(kernel(names[random() % 3], i, at, dur));
    }
  }
  return model_of(list);
}

TEST(Timeline, DrawsNoMoreThanTenThousandPieces) {
  Stage stage(dense(60'000), 2560, 1200);
  std::mt19937 random(5);
  const auto length = static_cast<double>(stage.seat().model->length);
  size_t most = 0;
  for (int i = 0; i < 50; ++i) {
    const double span =
        length * std::pow(10, -std::uniform_real_distribution<>(0, 5)(random));
    const double middle = std::uniform_real_distribution<>(0, length)(random);
    stage.view().from = middle - span / 2, stage.view().to = middle + span / 2;
    stage.frame();
    const size_t pieces = stage.view().primitives;
    EXPECT_GT(pieces, 100u);
    EXPECT_LE(pieces, 10'000u) << "view of " << span << " ns";
    EXPECT_LE(stage.vertices, static_cast<int>(pieces) * 60) << "all are counted";
    most = std::max(most, pieces);
  }
  EXPECT_GT(most, 2'000u) << "the trace is dense enough to tell";
}

TEST(Timeline, TheSameViewIsTheSamePicture) {
  Stage stage(dense(5'000));
  stage.view().from = 1000, stage.view().to = 300'000;
  const Image first = stage.frame();
  stage.view().from = 0, stage.view().to = 9000;
  stage.frame();
  stage.view().from = 1000, stage.view().to = 300'000;
  EXPECT_EQ(stage.frame().pixels, first.pixels);
  stage.app.choices.search = "relu";
  EXPECT_NE(stage.frame().pixels, first.pixels) << "what is not found is dimmed";
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(c));
  return text;
}

bool contains(const std::string& name, const std::string& needle) {
  return lower(name).find(lower(needle)) != std::string::npos;
}

uint32_t slow_hit(const Model& model, const std::string& needle, uint32_t from,
                  bool forward) {
  uint32_t best = kNoEvent;
  for (uint32_t i = 0; i < model.events.size(); ++i) {
    if (!contains(model.name_of(model.events[i]), needle)) continue;
    if (forward && i > from) return i;
    if (!forward && i < from) best = i;
  }
  return best;
}

TEST(Timeline, SearchFindsWhatBruteForceFinds) {
  const Model model = dense(3'000);
  const Lod lod = build_lod(model);
  std::mt19937 random(9);
  for (const char* needle : {"CONV", "e", "2d", "g", "nothing"}) {
    for (int i = 0; i < 100; ++i) {
      const auto from = static_cast<uint32_t>(random() % model.events.size());
      const bool forward = i % 2 == 0;
      ASSERT_EQ(next_hit(model, needle, from, forward),
                slow_hit(model, needle, from, forward))
          << needle << " from " << from;
    }
    const SearchHits hits = find_hits(model, lod, needle);
    size_t count = 0;
    for (size_t place = 0; place < lod.places().size(); ++place) {
      ASSERT_EQ(hits.rank(place), count);
      const Event& e = model.events[lod.places()[place]];
      count += contains(model.name_of(e), needle);
    }
  }
  EXPECT_EQ(next_hit(model, "", 0, true), kNoEvent);
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
  EXPECT_EQ(stage.cache().layout.strips.size(), closed + 1) << "a head, and threads";
  EXPECT_GT(stage.cache().layout.height, stage.cache().plot.h);
  stage.move(stage.cache().labels.x + 20, y);
  stage.wheel(0, -3);
  EXPECT_GT(stage.view().scroll, 0) << "the rest can be scrolled to";
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
  const uint32_t target = static_cast<uint32_t>(stage.seat().model->events.size() - 1);
  const ImVec2 at = stage.where(target);
  stage.click(at.x, at.y);
  EXPECT_EQ(stage.seat().state.event, target);
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
      stage.click(180.0f + 60 * static_cast<float>(i), 60.0f + 15 * static_cast<float>(i));
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

TEST(Timeline, NamesAreShortened) {
  EXPECT_EQ(short_name("aten::conv2d"), "conv2d");
  EXPECT_EQ(short_name("ConvolutionBackward0"), "← Convolution");
  EXPECT_EQ(short_name("conv2d_backward_weight"), "← conv2d weight");
  EXPECT_EQ(short_name("batch_norm_backward"), "← batch_norm");
  EXPECT_EQ(short_name("void at::native::copy_kernel<4, int>(int, float)"),
            "copy_kernel");
  EXPECT_EQ(short_name("Module._call_impl"), "Module._call_impl");
  EXPECT_EQ(short_name("autograd queue"), "autograd queue");
  EXPECT_EQ(short_name(""), "");
  EXPECT_EQ(short_name("<lambda>"), "<lambda>");
}

}  // namespace
}  // namespace lockstep::gui
