// The pipeline's grid in the viewer: opened by a key, a box per pass, clicks go to the
// action; for traces of ours and of PyTorch's profiler.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "gui/model/narration.h"
#include "gui/panels/panels.h"
#include "gui/render/image.h"
#include "tests/gui/app/driver.h"
#include "tests/gui/model/made_trace.h"
#include "tests/tracer/made_pipeline.h"

namespace lockstep::gui {
namespace {

using plan::pipeline_schedule;
using plan::PipelineOrder;
using tracer::testing::made_pipeline;
using tracer::testing::MadePipeline;
using tracer::testing::one_and_two;

void open_made(Driver& viewer, const char* name, const std::string& text) {
  const auto owner = std::make_shared<const std::string>(text);
  viewer.app.begin_loading(name, *owner, owner);
  viewer.app.finish_loading();
  viewer.app.move(Move::first);
  viewer.frame();
  viewer.frame();
}

tracer::Trace one_f_one_b(double latency = 0.25) {
  MadePipeline options;
  options.unit = 1'000'000;
  options.launch = 1000;
  return made_pipeline(pipeline_schedule(PipelineOrder::one_f_one_b, 4, 8),
                       one_and_two(4, latency), options);
}

TEST(PipelineScene, HasABoxForEachPass) {
  Driver viewer("");
  open_made(viewer, "pipeline", tracer::trace_text(one_f_one_b()));
  const OpenTrace& trace = viewer.app.trace();
  const tracer::Pipeline* grid = pipeline_here(trace);
  ASSERT_NE(grid, nullptr);
  const PipelinePlaces& places = trace.why->pipelines[trace.state.step];
  ASSERT_EQ(places.rows.size(), 4u);
  for (const PipelineRow& row : places.rows) EXPECT_EQ(row.boxes.size(), 16u);
  for (size_t i = 0; i < grid->passes.size(); ++i) {
    ASSERT_NE(places.events[i], kNoEvent);
    const Event& event = viewer.model().events[places.events[i]];
    EXPECT_EQ(event.what(), Kind::phase);
    EXPECT_EQ(event.ts, grid->passes[i].host_begin + places.offset);
  }
  EXPECT_EQ(places.rows[0].most_live, 4);
  EXPECT_EQ(places.rows[3].most_live, 1);
}

/// Returns the pass at the position, or kNoPass.
uint32_t pass_here(const OpenTrace& trace) {
  return pass_of(trace.why->pipelines[trace.state.step], trace.state.stack);
}

TEST(PipelineScene, KeyIOpensItAndAClickGoesToTheAction) {
  Driver viewer("");
  open_made(viewer, "pipeline", tracer::trace_text(one_f_one_b()));
  EXPECT_FALSE(viewer.app.settings.pipeline);
  const Image before = viewer.frame();
  viewer.press('i');
  EXPECT_TRUE(viewer.app.settings.pipeline);
  EXPECT_NE(viewer.frame().pixels, before.pixels);
  EXPECT_EQ(pass_here(viewer.app.trace()), tracer::kNoPass);
  // Somewhere in the middle column there are boxes: each click that moves goes to the
  // event of an action.
  const uint32_t start = viewer.app.trace().state.event;
  size_t moved = 0;
  for (float y = 130; y < 420; y += 12) {
    viewer.click(640, y);
    if (viewer.app.trace().state.event == start) continue;
    ++moved;
    EXPECT_NE(pass_here(viewer.app.trace()), tracer::kNoPass) << y;
  }
  EXPECT_GT(moved, 0u);
  viewer.press('y');
  EXPECT_TRUE(viewer.app.settings.why);
  EXPECT_FALSE(viewer.app.settings.pipeline);
  viewer.press('i');
  viewer.press('i');
  EXPECT_FALSE(viewer.app.settings.pipeline);
}

TEST(PipelineScene, OtherTracesHaveNone) {
  Driver viewer("dp.json.gz");
  EXPECT_EQ(pipeline_here(viewer.app.trace()), nullptr);
  viewer.press('i');
  viewer.frame();
}

/// The same step as the profiler writes it, without steps or ids.
std::string profiler_text(const tracer::Trace& ours) {
  std::string events;
  for (const tracer::Event& event : ours.events) {
    if (event.ph != 'X') continue;
    const auto us = [](int64_t ns) { return static_cast<double>(ns) / 1000; };
    const auto add = [&](const char* cat, const std::string& name, int64_t ts,
                         int64_t dur, const std::string& args) {
      events +=
          fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},)"
                      R"("ts":{:.3f},"dur":{:.3f},"args":{{{}}}}},)",
                      cat, name, event.pid, event.tid, us(ts + 5000), us(dur), args);
    };
    const std::string action = tracer::string_arg(event.args, "action");
    if (!action.empty()) {
      add("user_annotation", "PP:" + action, event.ts, event.dur, "");
    }
    if (event.is(tracer::categories::op)) {
      add("cpu_op", "aten::conv2d", event.ts, event.dur, "");
      add("cuda_runtime", "cudaLaunchKernel", event.ts, 1,
          fmt::format(R"("correlation":{})", event.id));
    }
    if (event.is(tracer::categories::kernel)) {
      add("kernel", "conv", event.ts, event.dur,
          fmt::format(R"("correlation":{},"device":{},"stream":7)", event.op,
                      event.pid - 1));
    }
  }
  events.pop_back();
  return R"({"schemaVersion":1,"traceEvents":[)" + events + "]}";
}

TEST(PipelineScene, FindsPyTorchsRangesByNameAndTime) {
  Driver viewer("");
  open_made(viewer, "profiler", profiler_text(one_f_one_b(0)));
  const OpenTrace& trace = viewer.app.trace();
  const tracer::Pipeline* grid = pipeline_here(trace);
  ASSERT_NE(grid, nullptr);
  const PipelinePlaces& places = trace.why->pipelines[trace.state.step];
  for (size_t i = 0; i < grid->passes.size(); ++i) {
    ASSERT_NE(places.events[i], kNoEvent);
    EXPECT_EQ(viewer.model().name_of(viewer.model().events[places.events[i]]),
              "PP:" + plan::to_text(grid->passes[i].action));
  }
  viewer.press('i');
  viewer.frame();
}

TEST(PipelineScene, SmallPassesAreDrawnTogether) {
  tracer::Pipeline grid;
  grid.begin = 0, grid.end = 100'000'000;
  grid.devices.resize(1);
  for (uint32_t i = 0; i < 100'000; ++i) {
    tracer::PipelinePass& pass = grid.passes.emplace_back();
    pass.begin = 1000 * int64_t{i}, pass.end = pass.begin + 900;
    grid.devices[0].passes.push_back(i);
    grid.devices[0].pieces.push_back({pass.end, pass.end + 100, tracer::Slot::host, i});
  }
  Driver viewer("dp.json.gz");
  const PipelinePlaces places = place(viewer.model(), grid);
  EXPECT_LE(places.rows[0].boxes.size(), 2u * kFinest);
  EXPECT_TRUE(places.rows[0].idle.empty());
  size_t passes = 0;
  for (const PipelineRow::Box& box : places.rows[0].boxes) passes += box.count;
  EXPECT_EQ(passes, 100'000u);
}

TEST(PipelineScene, TellsPassesAndCopies) {
  const Model model = test::made("model-parallel", R"(
phase step 0 0 99000 kind=train batch=8
phase forward 0 100 400 action="0F3" stage=0 micro_batch=3
copy a 2 1000 100 op=2 why=activation src=0 dst=1 bytes=1048576 stage=1 micro_batch=3
phase backward 0 2000 400 action="1B3" stage=1 micro_batch=3
copy b 1 3000 100 op=4 why=activation_grad src=1 dst=0 bytes=1000 stage=0 micro_batch=3
copy c 2 4000 100 op=2 why=activation src=0 dst=1 bytes=1048576
)")
                          .model();
  const auto said = [&](const std::string& name) {
    for (uint32_t i = 0; i < model.events.size(); ++i) {
      if (model.name_of(model.events[i]) != name) continue;
      const State state = state_at(model, at_event(model, i));
      return narrate(model, state, break_down(model, state.step)).text;
    }
    return std::string();
  };
  EXPECT_EQ(said("a"),
            "The **activations** of micro-batch 3 (1.05 MB) go from device 0 to device "
            "1: the input of **stage 1**. At 10.5 GB/s.");
  EXPECT_EQ(
      said("backward"),
      "**Stage 1** runs the **backward** pass of micro-batch 3. The gradients are "
      "added to those of the micro-batches before.");
  EXPECT_EQ(said("b"),
            "The **gradient of the activations** of micro-batch 3 (1.00 kB) goes back "
            "from device 1 to device 0: **stage 0** can now run its backward pass.");
  EXPECT_EQ(said("c"),
            "The **activations** of a micro-batch (1.05 MB) go from device 0 to device "
            "1, which runs the next stage.");
}

struct PipelineShot {
  const char* name;
  bool dark;
};

class PipelineGolden : public testing::TestWithParam<PipelineShot> {};

// 1F1B with links that take a quarter of a forward pass, and stage 1 half as fast.
TEST_P(PipelineGolden, PictureIsTheSame) {
  Driver viewer("", 1024, 700);
  if (!viewer.screen.fonts().complete) {
    GTEST_SKIP() << "pictures need fonts-inter and fonts-jetbrains-mono";
  }
  plan::PipelineCosts costs = one_and_two(4, 0.25);
  costs.forward[1] = 2, costs.backward[1] = 4;
  MadePipeline options;
  options.unit = 1'000'000;
  options.launch = 1000;
  open_made(viewer, "pipeline",
            tracer::trace_text(made_pipeline(
                pipeline_schedule(PipelineOrder::one_f_one_b, 4, 8), costs, options)));
  viewer.app.settings.dark = GetParam().dark;
  viewer.app.settings.pipeline = true;
  const PipelinePlaces& places = viewer.app.trace().why->pipelines[0];
  viewer.app.go(
      in_time_order(viewer.model(), at_event(viewer.model(), places.events[20])));
  Position at = viewer.app.trace().position;
  at.time = 20'000'000;
  viewer.app.go(at);
  viewer.frame();
  const Image& picture = viewer.settled();
  const std::string path = golden(std::string(GetParam().name) + ".png");
  if (std::getenv("LOCKSTEP_UPDATE_GOLDENS") != nullptr) write_png(picture, path);
  const Image expected = read_png(path);
  ASSERT_EQ(picture.pixels.size(), expected.pixels.size());
  size_t different = 0;
  for (size_t i = 0; i < picture.pixels.size(); ++i) {
    for (int shift = 0; shift < 32; shift += 8) {
      const int one = static_cast<int>(picture.pixels[i] >> shift & 255);
      const int other = static_cast<int>(expected.pixels[i] >> shift & 255);
      different += std::abs(one - other) > 4;  // edges differ between processors
    }
  }
  EXPECT_EQ(different, 0u);
}

INSTANTIATE_TEST_SUITE_P(Viewer, PipelineGolden,
                         testing::Values(PipelineShot{"pipeline", true},
                                         PipelineShot{"pipeline_light", false}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lockstep::gui
