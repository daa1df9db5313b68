// "Why not 4x?": the panel, the thread through the timeline, and walking along it.
#include "gui/model/why.h"

#include <gtest/gtest.h>

#include "gui/panels/panels.h"
#include "tests/gui/app/driver.h"
#include "tracer/analysis/advice.h"

namespace lockstep::gui {
namespace {

constexpr const char* kTraces[] = {"single.json.gz", "dp.json.gz", "ddp.json.gz",
                                   "dp_features.json.gz"};

TEST(Why, SaysWhatTheSummarySays) {
  for (const char* name : kTraces) {
    Driver viewer(name);
    const OpenTrace& trace = viewer.app.trace();
    ASSERT_NE(trace.why, nullptr) << name;
    EXPECT_EQ(trace.why->problem, "");
    const Model& model = viewer.model();
    for (size_t i = 0; i < model.steps.size(); ++i) {
      const tracer::StepSummary* step = trace.why->step(model.steps[i].number);
      ASSERT_NE(step, nullptr) << name;
      EXPECT_EQ(step->length, model.steps[i].length) << name;
      if (step->split.known) {
        const auto devices = static_cast<int64_t>(model.devices.size());
        EXPECT_EQ(step->split.spent.sum(), devices * step->length) << name;
      }
    }
  }
}

TEST(Why, GivesARemedyOnce) {
  for (const char* name : kTraces) {
    Driver viewer(name);
    const Why& why = *viewer.app.trace().why;
    const tracer::StepSummary& step = why.summary.train.steps.at(0);
    const std::string all = why.limit + tracer::help_sentence(step, why.summary);
    for (int i = 1; i <= static_cast<int>(tracer::Remedy::loader); ++i) {
      const std::string_view words = words_of(static_cast<tracer::Remedy>(i));
      EXPECT_EQ(all.find(words), all.rfind(words)) << name << ": " << all;
    }
  }
}

TEST(Why, ThePathLiesInTheStepAndAddsUpToItsShares) {
  for (const char* name : kTraces) {
    Driver viewer(name);
    const Model& model = viewer.model();
    const Why& why = *viewer.app.trace().why;
    for (size_t i = 0; i < model.steps.size(); ++i) {
      ASSERT_FALSE(why.paths[i].empty()) << name;
      int64_t time = 0, before = INT64_MIN;
      for (const PathSegment& segment : why.paths[i]) {
        time += segment.time;
        EXPECT_GE(segment.end, segment.begin) << name;
        EXPECT_GE(segment.end, before) << name << ": the path only moves forward";
        EXPECT_LE(segment.end, model.steps[i].end) << name;
        EXPECT_NE(cause_of(model, segment), "");
        before = segment.end;
      }
      int64_t shares = 0;
      for (const auto& share : why.step(model.steps[i].number)->path_shares) {
        shares += share.nanoseconds;
      }
      EXPECT_EQ(time, shares) << name;
    }
  }
}

TEST(Why, KeyYOpensThePanelAndNWalksThePath) {
  Driver viewer("dp.json.gz");
  viewer.go("2:forward");
  const Image stage = viewer.frame();
  viewer.press('y');
  EXPECT_TRUE(viewer.app.settings.why);
  EXPECT_NE(viewer.frame().pixels, stage.pixels);
  const OpenTrace& trace = viewer.app.trace();
  const auto& path = trace.why->paths[trace.state.step];
  viewer.press('n');  // to the segment of this moment
  const size_t first = current_segment(trace);
  EXPECT_EQ(trace.state.event, path[first].event);
  for (size_t i = first + 1; i < std::min(first + 6, path.size()); ++i) {
    viewer.press('n');
    EXPECT_EQ(current_segment(trace), i);
    EXPECT_EQ(trace.state.event, path[i].event);
  }
  viewer.press('n', {.shift = true});
  EXPECT_EQ(current_segment(trace), std::min(first + 5, path.size() - 1) - 1);
  viewer.press('y');
  EXPECT_FALSE(viewer.app.settings.why);
}

TEST(Why, TheEndsOfThePathAreEnds) {
  Driver viewer("single.json.gz");
  viewer.press('y');
  const OpenTrace& trace = viewer.app.trace();
  const auto& path = trace.why->paths[trace.state.step];
  for (size_t i = 0; i < path.size() + 3; ++i) walk_path(viewer.app, true);
  EXPECT_EQ(current_segment(trace), path.size() - 1);
  for (size_t i = 0; i < path.size() + 3; ++i) walk_path(viewer.app, false);
  EXPECT_EQ(current_segment(trace), 0u);
}

TEST(Why, WithASearchNGoesToTheHits) {
  Driver viewer("dp.json.gz");
  viewer.app.settings.search = "conv2d";
  viewer.press('y');
  viewer.press('n');
  EXPECT_TRUE(contains(viewer.name(), "conv2d")) << viewer.name();
}

TEST(Why, OneDeviceIsTheTraceThatDidTheSameWork) {
  Driver viewer("dp.json.gz");
  EXPECT_EQ(single_of(viewer.app), nullptr);
  const tracer::FileText single = tracer::open_file_text(golden("single.json.gz"));
  const auto open = [&](std::string text) {
    viewer.app.open(load_model("one.json", std::move(text)));
    viewer.app.select_trace(0);
  };
  open(std::string(single.text));  // another network
  EXPECT_EQ(single_of(viewer.app), nullptr);
  std::string same(single.text);
  const std::string resnet = R"("arch": "resnet18")";
  ASSERT_NE(same.find(resnet), same.npos);
  same.replace(same.find(resnet), resnet.size(), R"("arch": "vgg16")");
  open(same);
  ASSERT_EQ(viewer.app.traces().size(), 3u);
  EXPECT_EQ(single_of(viewer.app), &viewer.app.traces()[2].why->summary);
  viewer.press('y');
  viewer.frame();
}

TEST(Why, ALargeTraceIsAnalysedByTheCaller) {
  Driver viewer("dp.json.gz");
  OpenTrace& trace = viewer.app.trace();
  trace.why = nullptr;  // as after opening more than kAnalysedAtOnce events
  EXPECT_EQ(viewer.app.awaits_why(), nullptr) << "nobody asked";
  viewer.press('y');
  ASSERT_EQ(viewer.app.awaits_why(), trace.model.get());
  viewer.frame();  // says that it is being computed
  viewer.press('n');
  const WhySource source = why_source(viewer.model());
  viewer.app.take_why(source.text.data() + 1, analyse(source));
  EXPECT_EQ(trace.why, nullptr) << "of a trace that is not open";
  viewer.app.take_why(source.text.data(), analyse(source));
  ASSERT_NE(trace.why, nullptr);
  EXPECT_EQ(viewer.app.awaits_why(), nullptr);
}

TEST(Why, OfAnImportThePathIsUnknown) {
  Driver viewer("../torch_profiler.json");
  const OpenTrace& trace = viewer.app.trace();
  ASSERT_NE(trace.why, nullptr);
  EXPECT_TRUE(trace.why->summary.imported);
  for (const auto& path : trace.why->paths) EXPECT_TRUE(path.empty());
  viewer.press('y');
  viewer.press('n');
  viewer.frame();
}

TEST(Why, NullDevicesHaveNoPath) {
  Driver viewer("dp.json.gz");
  std::string text(viewer.model().text);
  for (size_t at = 0; (at = text.find("\"cpu:", at)) != text.npos; at += 6) {
    text.replace(at, 5, "\"null:");
  }
  const WhyAnalysis analysis = analyse({text, nullptr, "null.json"});
  EXPECT_EQ(analysis.why.problem, "");
  EXPECT_TRUE(analysis.why.summary.null_devices);
  EXPECT_TRUE(analysis.pieces.empty());
}

TEST(Why, TextThatIsNoTraceHasAProblem) {
  EXPECT_NE(analyse({"{\"traceEvents\": [", nullptr, "cut.json"}).why.problem, "");
  EXPECT_NE(analyse({"", nullptr, "empty.json"}).why.problem, "");
}

TEST(Why, ForwardOfDataParallelIsTheUnionOfItsParts) {
  Driver viewer("dp.json.gz");
  const Breakdown& step = viewer.app.trace().step;
  ASSERT_TRUE(step.joined_forward.has_value());
  for (const tracer::NamedPhase& phase : step.phases) {
    const bool part = phase.name == "scatter" || phase.name == "replicate" ||
                      phase.name == "parallel_apply" || phase.name == "gather";
    if (!part) continue;
    EXPECT_GE(step.joined_forward->device, phase.cost.device) << phase.name;
    for (const auto& [device, busy] : phase.cost.busy) {
      EXPECT_GE(step.joined_forward->busy.at(device), busy) << phase.name;
    }
  }
  Driver single("single.json.gz");
  EXPECT_FALSE(single.app.trace().step.joined_forward.has_value());
}

}  // namespace
}  // namespace lockstep::gui
