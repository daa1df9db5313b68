// The steps of compared traces on one time scale: what fits, where it is, and where a
// click goes.
#include "gui/panels/stacked.h"

#include "gui/panels/panels.h"
#include "tests/gui/app/driver.h"
#include "tracer/emulate/emulate.h"
#include "tracer/format/trace.h"

namespace lockstep::gui {
namespace {

/// Two traces that are compared.
struct Compared {
  Compared(int width, int height, const std::string& second = "ddp.json.gz")
      : viewer("dp.json.gz", width, height) {
    viewer.open(second);
    viewer.app.settings.compare = true;
    viewer.app.select_trace(0);
    viewer.go("2:backward");
  }

  std::vector<OpenTrace*> traces() {
    std::vector<OpenTrace*> all;
    for (OpenTrace& trace : viewer.app.traces()) all.push_back(&trace);
    return all;
  }

  Driver viewer;
};

TEST(Compared, ARecordingAndAnEmulationAreNotSetInRelation) {
  Compared compared(1440, 900, "dp.json.gz");
  EXPECT_EQ(why_incomparable(compared.traces()), "");
  const tracer::Trace recorded = tracer::read_trace(golden("dp.json.gz"));
  const tracer::Trace emulated = tracer::emulate(recorded, {});
  compared.viewer.app.open(load_model("emulated", tracer::trace_text(emulated)));
  EXPECT_TRUE(why_incomparable(compared.traces()).starts_with("different clocks"));
  Compared nets(1440, 900);
  EXPECT_TRUE(why_incomparable(nets.traces()).starts_with("different workloads"));
}

TEST(Stacked, TheLongestStepFillsTheWidthAndNothingIsOutside) {
  Compared compared(1024, 640);
  const auto traces = compared.traces();
  for (const float height : {0.0f, 60.0f, 150.0f, 400.0f}) {
    const float least = stacked_height(traces, {1, false, false});
    const Rect inside{20, 40, 900, least - 32 + height};
    const StackedLayout layout = lay_out_stacked(inside, traces);
    ASSERT_EQ(layout.blocks.size(), 2u);
    float widest = 0, above = layout.axis.bottom();
    for (const StackedBlock& block : layout.blocks) {
      EXPECT_GE(block.bands.y, above - 0.01f);
      EXPECT_FLOAT_EQ(block.lanes.y, block.bands.bottom());
      above = block.lanes.bottom();
      EXPECT_LE(block.x(block.length), block.bands.right() + 0.5f);
      widest = std::max(widest, block.x(block.length));
      EXPECT_FLOAT_EQ(block.per_ns, layout.blocks[0].per_ns);
    }
    EXPECT_LE(above, inside.bottom());
    EXPECT_NEAR(widest, layout.axis.right(), 0.5f);
  }
}

TEST(Stacked, ShowsAsMuchAsFits) {
  Compared compared(1024, 640);
  const auto traces = compared.traces();
  const float full = stacked_height(traces, {kMostPhaseRows, true});
  const float low = stacked_height(traces, {kMostPhaseRows, false});
  ASSERT_LT(low, full);
  EXPECT_TRUE(stacked_fit(traces, full).own);
  EXPECT_FALSE(stacked_fit(traces, full - 1).own);
  EXPECT_EQ(stacked_fit(traces, low).rows, kMostPhaseRows);
  EXPECT_LT(stacked_fit(traces, low - 1).rows, kMostPhaseRows);
  const float two = stacked_height(traces, {2, false, true});
  EXPECT_EQ(stacked_fit(traces, two - 1).rows, 2);
  EXPECT_FALSE(stacked_fit(traces, two - 1).transfers);
  EXPECT_EQ(stacked_fit(traces, 0).rows, 1);
}

/// In every window, the first block is below the top bar, the card's title and the
/// axis.
constexpr float kFirstBand = 48 + 9 + 32 + 7 + 16 + 8;
constexpr float kPlot = 11 + 14 + 150;

TEST(Stacked, AClickGoesToThatMomentInThatTrace) {
  Compared compared(1024, 640);
  Driver& viewer = compared.viewer;
  const float right = 1024 - 11 - 14;
  const auto longest_step = [&] {
    int64_t longest = 0;
    for (OpenTrace* trace : compared.traces()) {
      longest = std::max(longest, lanes_here(*trace).length);
    }
    return static_cast<float>(longest);
  };
  float longest = longest_step();
  const auto expect_moment = [&](float x) {
    OpenTrace& trace = viewer.app.trace();
    const StepLanes& lanes = lanes_here(trace);
    const float wanted = (x - kPlot) / (right - kPlot) * longest;
    EXPECT_NEAR(static_cast<float>(trace.state.now - lanes.begin), wanted,
                longest / 400);
    EXPECT_EQ(trace.position.order, Order::time);
  };
  viewer.click(kPlot + 100, kFirstBand);
  EXPECT_EQ(viewer.app.current(), 0u);
  expect_moment(kPlot + 100);
  float y = kFirstBand;  // where the other trace's name is
  while (viewer.app.current() == 0 && y < 330) viewer.click(40, y += 6);
  // In its second step, which does not begin at 0.
  viewer.app.go(at_event(viewer.model(), viewer.model().steps.at(1).event));
  longest = longest_step();
  viewer.click(kPlot + 60, y);
  ASSERT_EQ(viewer.app.current(), 1u);
  EXPECT_EQ(viewer.app.trace().state.step, 1u);
  expect_moment(kPlot + 60);
  viewer.click(40, kFirstBand);  // the name of the first trace
  EXPECT_EQ(viewer.app.current(), 0u);
}

TEST(Stacked, AClickBehindTheEndOfTheShorterStepGoesNowhere) {
  Compared compared(1024, 640);
  Driver& viewer = compared.viewer;
  const auto traces = compared.traces();
  ASSERT_LT(lanes_here(*traces[1]).length, lanes_here(*traces[0]).length / 2);
  float y = kFirstBand;
  while (viewer.app.current() == 0 && y < 330) viewer.click(40, y += 6);
  ASSERT_EQ(viewer.app.current(), 1u);
  const Position before = viewer.app.trace().position;
  viewer.click(1024 - 11 - 14 - 3, y);
  EXPECT_TRUE(viewer.app.trace().position == before);
}

TEST(Stacked, TracesOfTheSameModeAreToldApartByTheirFiles) {
  Compared compared(1024, 640);
  EXPECT_EQ(compared_name(compared.traces(), 0), "dp");
  EXPECT_EQ(compared_name(compared.traces(), 1), "ddp");
  Compared same(1024, 640, "memory_dp.json.gz");
  EXPECT_EQ(compared_name(same.traces(), 0), "dp.json.gz");
  EXPECT_EQ(compared_name(same.traces(), 1), "memory_dp.json.gz");
  same.traces()[0]->model->name = "runs/monday/t.json";
  same.traces()[1]->model->name = "runs/tuesday/t.json";
  EXPECT_EQ(compared_name(same.traces(), 0), "monday");
  EXPECT_EQ(compared_name(same.traces(), 1), "tuesday");
}

TEST(Stacked, PanelsThatComparingHidesEndIt) {
  for (const char key : {'y', 'i'}) {
    Compared compared(1024, 640);
    compared.viewer.press(key);
    EXPECT_FALSE(compared.viewer.app.settings.compare) << key;
  }
}

}  // namespace
}  // namespace lockstep::gui
