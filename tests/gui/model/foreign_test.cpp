// Traces of PyTorch's profiler, recorded by others, open in the viewer.
// sanitize: address
#include <fmt/format.h>

#include <cstdlib>

#include "gui/model/breakdown.h"
#include "gui/model/state.h"
#include "tests/gui/model/valid.h"
#include "tracer/analysis/summary.h"
#include "tracer/kineto/kineto.h"

namespace lockstep::gui {
namespace {

using namespace test;  // NOLINT
namespace fs = std::filesystem;

/// The folder of foreign traces; empty if it is not on this machine.
fs::path foreign_traces() {
  const char* shared = std::getenv("LOCKSTEP_SHARED");
  const fs::path folder = shared ? fs::path(shared) / "traces" : fs::path();
  return fs::is_directory(folder) ? folder : fs::path();
}

class ForeignModels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (folder_.empty()) GTEST_SKIP() << "LOCKSTEP_SHARED has no folder traces/";
  }
  size_t count(const Model& model, Kind kind) const {
    return std::count_if(model.events.begin(), model.events.end(),
                         [&](const Event& event) { return event.what() == kind; });
  }
  fs::path folder_ = foreign_traces();
};

/// An event in the format of PyTorch's profiler.
std::string kineto(const char* cat, const char* name, const char* place,
                   const char* times, const char* args) {
  return fmt::format(
      R"({{"ph": "X", "cat": "{}", "name": "{}", {}, {}, "args": {{{}}}}})", cat, name,
      place, times, args);
}

TEST(ForeignModel, StepsKernelsAndCopiesWithoutOurArguments) {
  const char* const host = R"("pid": 4711, "tid": 4711)";
  const char* const stream = R"("pid": 0, "tid": 7)";
  const Model model = load_model(
      "kineto.json",
      R"({"distributedInfo": {"rank": 3}, "traceEvents": [)" +
          kineto("user_annotation", "ProfilerStep#8", host, R"("ts": 100, "dur": 100)",
                 "") +
          "," +
          kineto("cpu_op", "aten::mm", host, R"("ts": 110, "dur": 50)",
                 R"("External id": 5)") +
          "," +
          kineto("cuda_runtime", "cudaLaunchKernel", host, R"("ts": 120, "dur": 5)",
                 R"("correlation": 77)") +
          "," +
          kineto("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", stream,
                 R"("ts": 130, "dur": 9)",
                 R"("device": 2, "stream": 7, "correlation": 70, "bytes": 12)") +
          "," +
          kineto("kernel", "sgemm", stream, R"("ts": 230, "dur": 40)",
                 R"("device": 2, "stream": 7, "correlation": 77)") +
          "," + kineto("cpu_op", "aten::add", host, R"("ts": 250, "dur": 5)", "") +
          "]}");
  expect_valid(model);
  ASSERT_EQ(model.events.size(), 6u);
  EXPECT_EQ(model.events[2].parent, 1u);
  EXPECT_EQ(model.events[4].parent, 2u) << "the launch with its correlation id";
  ASSERT_EQ(model.steps.size(), 1u);
  EXPECT_EQ(model.steps[0].number, 8u);
  EXPECT_EQ(model.steps[0].end, 170'000) << "its kernel ends after it";
  EXPECT_EQ(model.events[4].step, 8u) << "its launch is in the step";
  EXPECT_EQ(model.events[3].step, 8u) << "by time";
  EXPECT_EQ(model.events[5].step, kNoStep);
  ASSERT_EQ(model.copies.size(), 1u);
  EXPECT_EQ(model.copies[0].src, kHostDevice);
  EXPECT_EQ(model.devices.at(model.copies[0].dst).id, 2);
  EXPECT_EQ(model.copies[0].bytes, 12);
  for (const Lane& lane : model.lanes) EXPECT_EQ(lane.rank, 3);
  const Lane& device = model.lanes.back();
  EXPECT_EQ(device.stream, 7);
  EXPECT_EQ(model.devices.at(device.device).id, 2);
}

/// Two steps that overlap: the first one's kernel ends after the second has begun.
/// Autograd has a thread of its own, whose calls no step encloses.
std::string overlapping_steps() {
  const char* const host = R"("pid": 4711, "tid": 4711)";
  const char* const autograd = R"("pid": 4711, "tid": 4712)";
  const char* const stream = R"("pid": 0, "tid": 7)";
  const auto launch = [&](int ts, const char* correlation) {
    return kineto("cuda_runtime", "cudaLaunchKernel", host,
                  fmt::format(R"("ts": {}, "dur": 5)", ts).c_str(), correlation);
  };
  const auto kernel = [&](const char* times, const char* correlation) {
    return kineto("kernel", "sgemm", stream, times, correlation);
  };
  const char* const first = R"("device": 0, "stream": 7, "correlation": 1)";
  const char* const second = R"("device": 0, "stream": 7, "correlation": 2)";
  return R"({"traceEvents": [)" +
         kineto("user_annotation", "ProfilerStep#4", host, R"("ts": 100, "dur": 100)",
                "") +
         "," + launch(150, first) + "," + kernel(R"("ts": 160, "dur": 120)", first) +
         "," +
         kineto("user_annotation", "ProfilerStep#5", host, R"("ts": 200, "dur": 100)",
                "") +
         "," +
         kineto("python_function", "torch/autograd/function.py(12): apply", autograd,
                R"("ts": 210, "dur": 20)", "") +
         "," + launch(250, second) + "," + kernel(R"("ts": 290, "dur": 70)", second) +
         "]}";
}

TEST(ForeignModel, StepsThatOverlapAreMeasuredAsInTheSummary) {
  const Model model = load_model("kineto.json", overlapping_steps());
  ASSERT_EQ(model.steps.size(), 2u);
  EXPECT_EQ(model.steps[0].length, 180'000) << "to the end of its kernel";
  EXPECT_EQ(model.steps[1].length, 80'000) << "from there on";
  EXPECT_EQ(break_down(model, 1).length, 80'000);
  const tracer::Summary summary = tracer::summarize(
      tracer::import_kineto(tracer::parse_trace(overlapping_steps(), "kineto.json")));
  ASSERT_EQ(summary.train.steps.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(summary.train.steps[i].length, model.steps[i].length);
  }
}

TEST(ForeignModel, CallsOfOtherThreadsAndNamesWithSlashesAreFound) {
  const Model model = load_model("kineto.json", overlapping_steps());
  std::string why;
  const auto at = parse_position(model, "5:torch/autograd/function.py(12): apply", why);
  ASSERT_TRUE(at) << why;
  EXPECT_EQ(model.name_of(model.events[event_at(model, *at)]),
            "torch/autograd/function.py(12): apply");
  EXPECT_FALSE(parse_position(model, "4:torch/autograd/function.py(12): apply", why));
  const auto kernel = parse_position(model, "5:sgemm", why);
  ASSERT_TRUE(kernel) << why;
  EXPECT_EQ(model.events[event_at(model, *kernel)].ts, 190'000);
}

TEST_F(ForeignModels, Open) {
  size_t opened = 0;
  for (const auto& file : fs::recursive_directory_iterator(folder_)) {
    if (!file.path().filename().string().ends_with(".json.gz")) continue;
    SCOPED_TRACE(file.path());
    const Model model = load_file(file.path());
    expect_valid(model);
    EXPECT_LT(model.length, int64_t{600} * 1'000'000'000) << "at most ten minutes";
    for (uint32_t i = 0; i < model.events.size(); i += 997) {
      state_at(model, at_event(model, i));
      state_at(model, in_time_order(model, at_event(model, i)));
    }
    ++opened;
  }
  EXPECT_GE(opened, 25u);
}

TEST_F(ForeignModels, KernelsRunOnDevicesAndHangOnTheirLaunches) {
  const Model model =
      load_file(folder_ / "tracelens/resnet18_1gpu_mi300x_pystack_memory.json.gz");
  size_t kernels = 0, launched = 0;
  for (const Event& event : model.events) {
    if (event.what() != Kind::kernel) continue;
    ++kernels;
    EXPECT_FALSE(model.lanes[event.lane].is_host());
    if (event.parent == kNoEvent) continue;
    const Event& launch = model.events[event.parent];
    launched += launch.what() == Kind::call && model.lanes[launch.lane].is_host();
  }
  EXPECT_GT(kernels, 1000u);
  EXPECT_GT(launched, kernels * 9 / 10);
  EXPECT_GT(count(model, Kind::call), 6000u) << "the Python stack";
}

TEST_F(ForeignModels, MemcpyFromTheHostIsACopy) {
  const Model model =
      load_file(folder_ / "tb_plugin_resnet50/num_workers_0_span1.json.gz");
  ASSERT_EQ(model.copies.size(), 12u);
  ASSERT_EQ(model.devices.size(), 1u);
  for (const Copy& copy : model.copies) {
    EXPECT_EQ(copy.src, kHostDevice);
    EXPECT_EQ(copy.dst, 0);
    EXPECT_EQ(model.strings[copy.why], "h2d");
  }
  EXPECT_EQ(model.copies.front().bytes, 19'267'584) << "one batch of 32 images";
}

TEST_F(ForeignModels, ProfilerStepsAreSteps) {
  const Model model =
      load_file(folder_ / "tb_plugin_resnet50/num_workers_0_span1.json.gz");
  ASSERT_GE(model.steps.size(), 2u);
  EXPECT_EQ(model.steps[1].number, model.steps[0].number + 1);
  size_t inside = 0, kernels = 0;
  for (const Event& event : model.events) {
    if (event.what() != Kind::kernel) continue;
    ++kernels;
    inside += event.step != kNoStep;
  }
  EXPECT_GT(inside, kernels * 9 / 10);
  std::string why;
  EXPECT_TRUE(parse_position(model, std::to_string(model.steps[1].number), why)) << why;
}

}  // namespace
}  // namespace lockstep::gui
