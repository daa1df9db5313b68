// The timeline's primitives, search and totals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <random>

#include "gui/panels/widgets.h"
#include "tests/gui/panels/timeline_stage.h"
#include "tracer/format/file_io.h"

namespace lockstep::gui::timeline {
namespace {

TEST(Timeline, ARangeIsSummedUp) {
  const Model model = small();
  const auto lines = range_lines(model, build_lod(model), 0, 6'000'000);
  const std::vector<std::string> expected = {
      "6.00 ms\t6 events", "device 0 busy\t42 %",    "device 1 busy\t17 %",
      "conv2d\t2.00 ms",   "← conv2d data\t1.00 ms", "relu\t500 µs"};
  EXPECT_EQ(lines, expected);
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

/// Nested calls on 6 threads and short kernels on 12 devices.
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
  Stage stage(dense(60'000), 1920, 1000);
  std::mt19937 random(5);
  const auto length = static_cast<double>(stage.trace().model->length);
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
    EXPECT_LE(stage.vertices, static_cast<int>(pieces) * 60)
        << "every vertex belongs to a primitive";
    most = std::max(most, pieces);
  }
  EXPECT_GT(most, 2'000u) << "the trace is dense enough";
}

TEST(Timeline, TheSameViewIsTheSamePicture) {
  Stage stage(dense(5'000));
  stage.view().from = 1000, stage.view().to = 300'000;
  const Image first = stage.frame();
  stage.view().from = 0, stage.view().to = 9000;
  stage.frame();
  stage.view().from = 1000, stage.view().to = 300'000;
  EXPECT_EQ(stage.frame().pixels, first.pixels);
  stage.app.settings.search = "relu";
  EXPECT_NE(stage.frame().pixels, first.pixels) << "events without a match are dimmed";
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

/// A window of 1024 x 640 leaves the lanes about 180 points.
TEST(Timeline, TheFirstDevicesMemoryIsSeenInALowWindow) {
  const tracer::FileText text = tracer::open_file_text(
      std::string(LOCKSTEP_SOURCE_DIR) + "/tests/golden/viewer/dp.json.gz");
  const Model model = load_model("dp", std::string(text.text));
  const LaneLayout layout = lay_out(model, build_lod(model), {}, 180, -1, true);
  const auto memory =
      std::find_if(layout.strips.begin(), layout.strips.end(), [](const Strip& strip) {
        return strip.role == Strip::Role::track && strip.track == Strip::Track::memory;
      });
  ASSERT_NE(memory, layout.strips.end());
  EXPECT_LE(memory->y + memory->row_height, 180);
}

// A window of 1440 x 900 leaves the lanes about 150 points, larger ones 200 and more.
TEST(Timeline, FourOfManyDevicesAreSeenWithoutScrolling) {
  std::vector<std::string> list;
  for (int device = 0; device < 64; ++device) {
    list.push_back(kernel("conv2d", device, 10 + device, 5));
    list.push_back(event("call", "f", 0, device, 1, 2, ""));
  }
  const Model model = model_of(list);
  for (const float room : {140.0f, 151.0f, 202.0f, 300.0f}) {
    const LaneLayout layout = lay_out(model, build_lod(model), {}, room);
    EXPECT_GT(layout.height, room);
    int devices = 0;
    for (const Strip& strip : layout.strips) {
      const bool seen = strip.y + strip.row_height <= room;
      devices += seen && strip.role == Strip::Role::stream && strip.members > 0;
    }
    EXPECT_GE(devices, 4) << room;
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
  EXPECT_EQ(short_name("torch/nn/functional.py(2811): batch_norm"), "batch_norm");
  EXPECT_EQ(short_name("autograd queue"), "autograd queue");
  EXPECT_EQ(short_name(""), "");
  EXPECT_EQ(short_name("<lambda>"), "<lambda>");
}

TEST(Calls, PythonFramesBeginWithTheirFunction) {
  EXPECT_EQ(function_first("torch/nn/modules/module.py(1780): _call_impl"),
            "_call_impl · module.py(1780)");
  EXPECT_EQ(function_first("train.py(62): <module>"), "<module> · train.py(62)");
  EXPECT_EQ(function_first("nn.Module: ResNet_0"), "nn.Module: ResNet_0");
  EXPECT_EQ(function_first("cub::Sort(int): step"), "cub::Sort(int): step");
}

}  // namespace
}  // namespace lockstep::gui::timeline
