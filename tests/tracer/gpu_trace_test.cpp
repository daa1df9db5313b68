// A trace of two devices that share one GPU: a kernel that could start waits for the
// GPU, never for a core. A trace of virtual devices says the opposite.
#include <gtest/gtest.h>

#include "tests/tracer/golden.h"
#include "tests/tracer/made_pipeline.h"
#include "tracer/analysis/advice.h"
#include "tracer/analysis/bubble.h"
#include "tracer/analysis/check.h"
#include "tracer/analysis/summary.h"
#include "tracer/emulate/against.h"
#include "tracer/emulate/emulate.h"
#include "tracer/format/processor.h"

namespace lockstep::tracer {
namespace {

using testing::golden;

Trace shared_gpu() { return read_trace(golden() / "gpu/dp2_h100.json.gz"); }
Trace on_cores() { return read_trace(golden() / "viewer/dp.json.gz"); }

bool mentions(const std::string& text, const char* words) {
  return text.find(words) != std::string::npos;
}

/// Returns a summary without the use of the machine's cores.
std::string without_utilisation(std::string text) {
  const size_t at = text.find("cores busy unknown");
  return at == text.npos ? text : text.erase(at, 18);
}

Json devices(std::initializer_list<const char*> names) {
  Json list = Json::array();
  for (const char* name : names) list.push_back({{"name", name}});
  return {{"devices", list}};
}

TEST(GpuTrace, DevicesShareAGpuIfItsNumberIsTheSame) {
  EXPECT_EQ(processor_of(devices({"cpu:0", "cpu:1"})), Processor::cores);
  EXPECT_EQ(processor_of(devices({"null:0"})), Processor::cores);
  EXPECT_EQ(processor_of(Json::object()), Processor::cores);
  EXPECT_EQ(processor_of(devices({"none"})), Processor::cores);
  EXPECT_EQ(processor_of(devices({"cuda:0 on GPU 0, A", "cuda:1 on GPU 1, A"})),
            Processor::gpus);
  EXPECT_EQ(processor_of(devices({"cuda:0 on GPU 1, A", "cuda:1 on GPU 10, A"})),
            Processor::gpus);
  EXPECT_EQ(processor_of(devices({"cuda:0", "cuda:1"})), Processor::gpus);
  EXPECT_EQ(processor_of(devices({"GPU 0", "GPU 1"})), Processor::gpus);
  EXPECT_EQ(processor_of(devices(
                {"cuda:0 on GPU 0, A", "cuda:1 on GPU 1, A", "cuda:2 on GPU 0, A"})),
            Processor::shared_gpus);
  EXPECT_EQ(processor_of(shared_gpu().lockstep), Processor::shared_gpus);
}

TEST(GpuTrace, KeepsAllLaws) {
  for (const Finding& finding : check_trace(shared_gpu()).findings) {
    EXPECT_TRUE(finding.ok) << finding.law << ": " << finding.message;
  }
}

TEST(GpuTrace, ItsSummaryNamesTheGpuAndNoCore) {
  const Summary summary = summarize(shared_gpu());
  const Split split = summary.train.mean_split();
  EXPECT_EQ(split.spent[Spent::core], 0);
  EXPECT_GT(split.spent[Spent::gpu], split.spent.sum() / 10);
  EXPECT_EQ(split.spent.sum(), 2 * split.step);
  const std::string text = without_utilisation(summary_text(summary));
  EXPECT_TRUE(mentions(text, kWaitingForGpu)) << text;
  EXPECT_FALSE(mentions(text, "core")) << text;
  EXPECT_FALSE(mentions(text, "CPU time")) << text;
}

TEST(GpuTrace, ATraceOfVirtualDevicesSaysCore) {
  const Summary summary = summarize(on_cores());
  const Split split = summary.train.mean_split();
  EXPECT_EQ(split.spent[Spent::gpu], 0);
  EXPECT_GT(split.spent[Spent::core], 0);
  const std::string text = summary_text(summary);
  EXPECT_TRUE(mentions(text, kWaitingForCore)) << text;
  EXPECT_FALSE(mentions(text, "GPU")) << text;
}

// A task of several kernels lasts longer than they do, which says nothing about others.
TEST(GpuTrace, GapsBetweenATasksKernelsAreNoDisturbance) {
  Summary summary = summarize(shared_gpu());
  for (StepSummary& step : summary.train.steps) step.kernel_wall = 2 * step.kernel_cpu;
  EXPECT_FALSE(is_disturbed(summary));
  summary.processor = Processor::cores;
  EXPECT_TRUE(is_disturbed(summary));
}

// The sum of the kernels' times is less than one GPU takes, which waits for launches.
TEST(GpuTrace, KernelsAloneDoNotTellWhatOneGpuTakes) {
  Summary summary = summarize(shared_gpu());
  EXPECT_EQ(speedup_sentence(summary, nullptr), "");
  summary.processor = Processor::cores;
  EXPECT_TRUE(mentions(speedup_sentence(summary, nullptr), "Estimated"));
}

TEST(GpuTrace, OnlyDevicesThatShareAGpuWaitForEachOthersKernels) {
  EXPECT_FALSE(mentions(rule_of(Spent::gpu, Processor::gpus), "share"));
  EXPECT_TRUE(mentions(rule_of(Spent::gpu, Processor::shared_gpus), "share"));
  EXPECT_STREQ(rule_of(Spent::core, Processor::cores), words_of(Spent::core).rule);

  Summary summary;
  summary.clock = values::measured;
  summary.devices = 2;
  StepSummary step;
  step.length = step.path = 1'000;
  step.path_shares = {{kWaitingForGpu, 600}, {"backward", 400}};
  step.split.step = 1'000;
  step.split.known = true;
  step.split.devices.resize(2);
  for (DeviceSplit& device : step.split.devices) {
    device.spent[Spent::gpu] = 600;
    device.spent[Spent::computing] = 400;
  }
  step.split.spent[Spent::gpu] = 1'200;
  step.split.spent[Spent::computing] = 800;
  summary.train.steps = {step};
  summary.processor = Processor::shared_gpus;
  EXPECT_TRUE(mentions(help_sentence(step, summary), "One GPU per device"));
  EXPECT_TRUE(
      mentions(limiting_sentence(summary), "devices that share a GPU may wait"));
  summary.processor = Processor::gpus;
  EXPECT_TRUE(mentions(help_sentence(step, summary), "larger batch"));
  EXPECT_FALSE(mentions(help_sentence(step, summary), "One GPU per device"));
  EXPECT_FALSE(mentions(limiting_sentence(summary), "share"));
  EXPECT_TRUE(mentions(limiting_sentence(summary), "a larger batch"));
  summary.devices = 1;
  EXPECT_TRUE(mentions(limiting_sentence(summary), "the device waits for the GPU"));
}

TEST(GpuTrace, APredictionBesideItSaysGpu) {
  const Trace recorded = shared_gpu();
  const Trace predicted = emulate(recorded, EmulateOptions{});
  const std::string assumed = summarize(predicted).assumed;
  EXPECT_TRUE(mentions(assumed, "its GPU time on")) << assumed;
  const Against result = against(predicted, recorded);
  const std::string text = against_text(result, "dp2");
  EXPECT_TRUE(mentions(text, "waited for the GPU during")) << text;
  EXPECT_FALSE(mentions(text, "core")) << text;
  EXPECT_TRUE(against_json(result).contains("waiting_for_gpu"));
}

TEST(GpuTrace, APipelinesBubbleSaysGpu) {
  testing::MadePipeline busy;
  busy.queued = 100;
  Trace trace = testing::made_pipeline(
      plan::pipeline_schedule(plan::PipelineOrder::one_f_one_b, 2, 4),
      testing::one_and_two(2), busy);
  const std::string cores = bubble_text(testing::grid_of(trace)->times);
  EXPECT_TRUE(mentions(cores, kWaitingForCore)) << cores;
  for (Json& device : trace.lockstep["devices"]) device["name"] = "cuda:0";
  std::string gpus = bubble_text(testing::grid_of(trace)->times);
  ASSERT_TRUE(mentions(gpus, kWaitingForGpu)) << gpus;
  gpus.replace(gpus.find("the GPU"), 7, "a core");
  EXPECT_EQ(gpus, cores) << "only the word differs";
}

}  // namespace
}  // namespace lockstep::tracer
