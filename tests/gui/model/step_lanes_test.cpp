// The lanes of a step against the numbers of its breakdown, and the rows of its phases.
#include "gui/model/step_lanes.h"

#include <gtest/gtest.h>

#include "gui/model/breakdown.h"
#include "tests/gui/model/made_trace.h"
#include "tracer/format/file_io.h"

namespace lockstep::gui {
namespace {

struct LaneTrace {
  explicit LaneTrace(const std::string& name)
      : text(tracer::open_file_text(std::string(LOCKSTEP_SOURCE_DIR) +
                                    "/tests/golden/viewer/" + name + ".json.gz")),
        model(load_model(name, std::string(text.text))) {}
  tracer::FileText text;
  Model model;
};

double busy_time(const std::vector<LaneBin>& bins, int64_t length) {
  double sum = 0;
  for (const LaneBin& bin : bins) sum += static_cast<double>(bin.share);
  return sum * static_cast<double>(length) / kLaneBins;
}

TEST(StepLanes, AgreeWithTheBreakdown) {
  for (const char* name : {"single", "dp", "ddp", "dp_features"}) {
    const LaneTrace trace(name);
    for (size_t i = 0; i < trace.model.steps.size(); ++i) {
      SCOPED_TRACE(std::string(name) + " " + std::to_string(i));
      const Breakdown expected = break_down(trace.model, i);
      const StepLanes lanes = step_lanes(trace.model, i);
      EXPECT_GE(lanes.length, expected.length);
      ASSERT_EQ(lanes.devices.size(), expected.devices.size());
      double computing = 0;
      const double rounding = 1e-4 * static_cast<double>(lanes.length);
      for (size_t d = 0; d < lanes.devices.size(); ++d) {
        const StepLane& own = lanes.devices[d];
        EXPECT_NEAR(busy_time(own.computing, lanes.length),
                    static_cast<double>(expected.devices[d].computing), rounding);
        EXPECT_NEAR(busy_time(own.transferring, lanes.length),
                    static_cast<double>(expected.devices[d].communicating), rounding);
        computing += static_cast<double>(expected.devices[d].computing);
      }
      EXPECT_NEAR(busy_time(lanes.all.computing, lanes.length),
                  computing / static_cast<double>(expected.devices.size()), rounding);
      size_t compared = 0;
      for (const tracer::NamedPhase& phase : expected.phases) {
        const LanePhase* own = lanes.phase(phase.name);
        if (own == nullptr || !phase.cost.on_device()) continue;
        if (phase.name == phases::forward && expected.joined_forward) continue;
        EXPECT_EQ(own->length(), phase.cost.device) << phase.name;
        EXPECT_EQ(own->busy, busiest(phase.cost)) << phase.name;
        ++compared;
      }
      EXPECT_GE(compared, 3u);
      if (expected.joined_forward) {
        ASSERT_NE(lanes.phase(phases::forward), nullptr);
        EXPECT_EQ(lanes.phase(phases::forward)->length(),
                  expected.joined_forward->device);
        EXPECT_EQ(lanes.phase(phases::forward)->busy,
                  busiest(*expected.joined_forward));
      }
    }
  }
}

TEST(StepLanes, PhasesOfOneRowDoNotOverlap) {
  for (const char* name : {"single", "dp", "ddp", "dp_features"}) {
    const LaneTrace trace(name);
    const StepLanes lanes = step_lanes(trace.model, 0);
    ASSERT_FALSE(lanes.phases.empty()) << name;
    ASSERT_NE(lanes.phase(phases::backward), nullptr) << name;
    EXPECT_EQ(lanes.phase(phases::backward)->row, 0) << name;
    for (const LanePhase& a : lanes.phases) {
      EXPECT_LT(a.row, lanes.rows);
      for (const LanePhase& b : lanes.phases) {
        if (&a == &b || a.row != b.row) continue;
        EXPECT_TRUE(a.end <= b.begin || b.end <= a.begin) << a.name << " " << b.name;
      }
    }
  }
}

constexpr const char* kTask = R"("phase":"forward")";

// Metrics last nearly as long as backward, but only wait: all_reduce is not left out.
TEST(StepLanes, ABusyPhaseComesBeforeOneThatWaits) {
  const LaneTrace trace("ddp");
  const StepLanes lanes = step_lanes(trace.model, 1);
  const LanePhase* reduces = lanes.phase(phases::all_reduce);
  ASSERT_NE(reduces, nullptr);
  const LanePhase* waits = lanes.phase(phases::metrics);
  if (waits == nullptr) return;
  EXPECT_GT(reduces->busy, waits->busy);
  EXPECT_LE(reduces->row, waits->row);
}

TEST(StepLanes, ABinHasTheColourOfWhatTakesMostOfIt) {
  test::Made made;
  made.x("phase", "step", 0, 0, 2048, "");
  made.x("kernel", "conv2d", 1, 0, 1024, kTask);
  made.x("kernel", "conv2d", 1, 512, 1024, kTask);  // half of it counts already
  made.x("kernel", "conv2d", 2, 0, 256, R"("phase":"backward")");
  const Model model = made.model();
  const StepLanes lanes = step_lanes(model, 0);
  ASSERT_EQ(lanes.devices.size(), 3u);
  ASSERT_EQ(lanes.length, 2'048'000);
  const auto name = [&](const LaneBin& bin) { return model.strings[bin.what]; };
  EXPECT_EQ(name(lanes.devices[0].computing[700]), "forward");
  EXPECT_FLOAT_EQ(lanes.devices[0].computing[700].share, 1);
  EXPECT_FLOAT_EQ(lanes.devices[0].computing[1600].share, 0);
  EXPECT_EQ(name(lanes.devices[1].computing[255]), "backward");
  EXPECT_FLOAT_EQ(lanes.all.computing[100].share, 2.0f / 3);
  EXPECT_FLOAT_EQ(lanes.all.computing[300].share, 1.0f / 3);
}

TEST(StepLanes, WithoutDeviceTimesShowThePhasesOfTheHost) {
  Model model = test::Made()
                    .x("phase", "step", 0, 0, 100, "")
                    .x("phase", "forward", 0, 10, 30, "")
                    .x("kernel", "conv2d", 1, 60, 20, kTask)
                    .model();
  model.devices[0].name = "null:0";
  const StepLanes lanes = step_lanes(model, 0);
  EXPECT_FALSE(lanes.on_devices);
  EXPECT_TRUE(lanes.all.computing.empty());
  ASSERT_NE(lanes.phase("forward"), nullptr);
  EXPECT_EQ(lanes.phase("forward")->begin, 10'000);
  EXPECT_EQ(lanes.phase("forward")->length(), 30'000);
}

}  // namespace
}  // namespace lockstep::gui
