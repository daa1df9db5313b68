// Kernels are recorded at the times reported by the GPU profiler.
#include <map>

#include "engine/backends/load_cuda.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/runtime/device_context.h"
#include "tests/engine/backends/cuda_device.h"
#include "tests/engine/values.h"
#include "tracer/record/collect.h"
#include "tracer/record/recorder.h"

namespace lockstep {
namespace {

using CudaTimeline = test::OnCuda;

/// Runs a few operations on two devices. Returns their kernels and copies by id.
std::map<int64_t, tracer::Event> record_some_work() {
  const Device first{DeviceType::cuda, 0}, second{DeviceType::cuda, 1};
  tracer::start_recording();
  tracer::set_step(0);
  const Tensor x =
      test::on(first, test::signed_tensor("x", {2, 3, 8, 8}, 1, DType::f32));
  const Tensor w =
      test::on(first, test::signed_tensor("w", {4, 3, 3, 3}, 1, DType::f32));
  Tensor y = ops::conv2d(x, w, {}, {1, 1});
  y = ops::copy_to(ops::relu(y), second, {"gather"});
  ops::copy_to(ops::scale(y, 2), kHost, {"d2h"});
  for (const Device device : {first, second}) runtime::context(device).synchronize();
  tracer::stop_recording();
  std::map<int64_t, tracer::Event> tasks;
  for (tracer::Event& event : tracer::collect()) {
    if (event.is("kernel") || event.is("copy")) tasks[event.id] = std::move(event);
  }
  return tasks;
}

TEST_P(CudaTimeline, EventsLieWhereTheirKernelsWere) {
  if (real()) GTEST_SKIP() << "reads the simulated profiler's records";
  test::simulate_profiler(true);
  const auto tasks = record_some_work();
  test::simulate_profiler(false);
  struct Span {
    int64_t begin = INT64_MAX, end = 0;
    int64_t pieces = 0;
  };
  std::map<int64_t, Span> told;
  for (const tracer::DeviceActivity& work : test::profiled_work()) {
    Span& span = told[work.event];
    span.begin = std::min(span.begin, work.begin - tracer::recording_origin());
    span.end = std::max(span.end, work.end - tracer::recording_origin());
    ++span.pieces;
  }
  ASSERT_GE(tasks.size(), 6u);
  for (const auto& [id, task] : tasks) {
    ASSERT_TRUE(told.contains(id)) << task.name;
    EXPECT_EQ(task.ts, told[id].begin) << task.name;
    EXPECT_EQ(task.end(), told[id].end) << task.name;
    EXPECT_EQ(task.args["activities"], told[id].pieces) << task.name;
    EXPECT_LE(double(task.args["cpu_us"]), double(task.dur) / 1e3) << task.name;
    EXPECT_GE(double(task.args["queued_us"]), 0) << task.name;
  }
}

TEST_P(CudaTimeline, WithoutAProfilerTheMarksStay) {
  if (real()) GTEST_SKIP() << "a real GPU may have one";
  for (const auto& [id, task] : record_some_work()) {
    EXPECT_GT(task.dur, 0);
    EXPECT_FALSE(task.args.contains("activities"));
  }
}

/// CUPTI may drop records, so the number is printed; only none at all is a failure.
TEST_P(CudaTimeline, CuptiTimesKernelsOfARealGpu) {
  if (!real()) GTEST_SKIP() << "CUPTI needs a GPU";
  const std::string why_not = cuda_module().prepare_timeline();
  if (!why_not.empty()) GTEST_SKIP() << why_not;
  const auto tasks = record_some_work();
  ASSERT_GE(tasks.size(), 6u);
  size_t timed = 0;
  for (const auto& [id, task] : tasks) timed += task.args.contains("activities");
  std::printf("CUPTI timed %zu of %zu tasks\n", timed, tasks.size());
  EXPECT_GT(timed, 0u);
}

INSTANTIATE_TEST_SUITE_P(Gpu, CudaTimeline, testing::Values("Simulated", "Real"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockstep
