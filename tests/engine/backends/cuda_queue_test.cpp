// What the host pays for a GPU's queue: marks (CUDA events) that are recorded only
// where somebody waits, reads that need none, and choices by time on an idle device.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/runtime/pinned_memory.h"
#include "tests/engine/backends/cuda_device.h"
#include "tests/engine/backends/shapes.h"
#include "tests/engine/runtime/gate.h"
#include "tracer/format/args.h"
#include "tracer/record/collect.h"

namespace lockstep {
namespace {

class CudaQueues : public test::OnCuda {
 protected:
  void SetUp() override {
    OnCuda::SetUp();
    if (!IsSkipped()) context().synchronize();
  }
  static runtime::DeviceContext& context() { return runtime::context(test::kGpu); }
};

TEST_P(CudaQueues, KernelsThatNobodyWaitsForShareAMark) {
  if (real()) GTEST_SKIP() << "only the simulated GPU counts marks";
  constexpr int kKernels = 64;
  const Tensor x = test::on(test::kGpu, test::vector({-1, 2}, DType::f32));
  const int64_t before = test::marks_recorded();
  Tensor y = x;
  {
    test::Gate gate(context().compute());  // the worker finds all kernels in its queue
    for (int i = 0; i < kKernels; ++i) y = ops::scale(y, -1);
  }
  context().synchronize();
  EXPECT_LE(test::marks_recorded() - before, kKernels / 16 + 2);
  EXPECT_EQ(test::values_of(y), (std::vector<double>{-1, 2}));
}

/// A stream that waits for a kernel must not also wait for the kernels after it.
TEST_P(CudaQueues, AKernelThatSomebodyWaitsForIsMarkedAlone) {
  const Tensor x = test::on(test::kGpu, test::vector({-1, 2}, DType::f32));
  test::Gate first(context().compute());
  const Tensor y = ops::scale(x, 2);
  const runtime::EventPtr made = context().compute().record_event();
  test::Gate second(context().compute());
  first.open();
  const auto waiting = std::async(std::launch::async, [&] { made->wait(); });
  EXPECT_EQ(waiting.wait_for(std::chrono::seconds(60)), std::future_status::ready)
      << "the kernel's event waits for the task behind it";
  second.open();
}

TEST_P(CudaQueues, AReadNeedsNoMark) {
  if (real()) GTEST_SKIP() << "only the simulated GPU counts marks";
  const Tensor x = test::on(test::kGpu, Tensor::scalar(3));
  context().synchronize();
  const int64_t before = test::marks_recorded();
  EXPECT_EQ(ops::item(x), 3);
  EXPECT_EQ(test::marks_recorded() - before, 0);
}

TEST_P(CudaQueues, SeveralScalarsAreReadWithOneCopy) {
  const Tensors scalars{test::on(test::kGpu, Tensor::scalar(3)),
                        test::on(test::kGpu, Tensor::scalar(-0.5)),
                        test::on(test::kGpu, Tensor::scalar(7))};
  tracer::start_recording();
  EXPECT_EQ(ops::items(scalars), (std::vector<double>{3, -0.5, 7}));
  tracer::stop_recording();
  int copies = 0;
  for (const tracer::Event& event : tracer::collect()) {
    if (!event.is("copy")) continue;
    ++copies;
    EXPECT_EQ(event.name, "d2h");
    EXPECT_EQ(tracer::int_arg(event.args, "bytes", -1), 3 * 4);
  }
  EXPECT_EQ(copies, 1);
}

/// Simulated GPUs run nothing until `end` or destruction.
class Pause {
 public:
  Pause() { test::pause_gpus(true); }
  ~Pause() { end(); }
  void end() { test::pause_gpus(false); }
};

/// Batches in pinned memory, each with one value.
class PinnedBatches {
 public:
  explicit PinnedBatches(runtime::DeviceContext& device)
      : memory_(*device.driver()->pinned_memory()) {}
  Tensor make(float value) {
    std::shared_ptr<char[]> data(static_cast<char*>(memory_.allocate(kBytes)),
                                 [this](char* data) {
                                   memory_.deallocate(data, kBytes);
                                   ++freed_;
                                 });
    std::fill_n(reinterpret_cast<float*>(data.get()), kValues, value);
    return Tensor(std::make_shared<Storage>(data, kBytes), 0, {{kValues}});
  }
  void wait_until_freed(int count) const {
    while (freed_ < count) std::this_thread::yield();
  }
  static std::vector<double> all(double value) {
    return std::vector<double>(kValues, value);
  }
  static constexpr int64_t kValues = 1 << 16;

 private:
  static constexpr size_t kBytes = kValues * sizeof(float);
  runtime::PinnedMemory& memory_;
  std::atomic<int> freed_{0};
};

/// The batch's memory is free once the copy has been handed over, before it has run.
TEST_P(CudaQueues, APinnedBatchIsNotOverwrittenBeforeItsCopyHasRun) {
  if (real()) GTEST_SKIP() << "only the simulated GPU can be paused";
  PinnedBatches batches(context());
  const Tensor into =
      test::on(test::kGpu, Tensor::empty({PinnedBatches::kValues}, kHost));
  context().synchronize();
  const int64_t before = test::direct_copies();
  Pause pause;
  const Tensor one = ops::copy_to(batches.make(1), test::kGpu, {"h2d", "images"});
  batches.wait_until_freed(1);
  ops::copy_into(batches.make(2), into, {"h2d", "images"});
  batches.wait_until_freed(2);
  const Tensor third = batches.make(3), fourth = batches.make(4);
  pause.end();
  EXPECT_EQ(test::values_of(one), PinnedBatches::all(1));
  EXPECT_EQ(test::values_of(into), PinnedBatches::all(2));
  EXPECT_EQ(test::direct_copies() - before, 2);
}

TEST_P(CudaQueues, EachPinnedBatchArrives) {
  PinnedBatches batches(context());
  Tensors there;
  for (int i = 0; i < 64; ++i) {
    there.push_back(
        ops::copy_to(batches.make(float(i)), test::kGpu, {"h2d", "images"}));
  }
  for (int i = 0; i < 64; ++i) {
    ASSERT_EQ(test::values_of(there[i]), PinnedBatches::all(i));
  }
}

TEST_P(CudaQueues, KernelsAreTimedOnAnIdleDevice) {
  if (real()) GTEST_SKIP() << "only the simulated GPU knows what was disturbed";
  backend_options().benchmark = true;
  forget_plans();
  const int64_t before = test::disturbed_choices();
  const Tensor x = test::on(test::kGpu, test::rounded("x", {2, 8, 16, 16}, DType::f32));
  const Tensor w = test::on(test::kGpu, test::rounded("w", {8, 8, 3, 3}, DType::f32));
  Tensor y = x;
  for (int i = 0; i < 200; ++i) y = ops::scale(y, -1);
  ops::conv2d(y, w, {}, {1, 1});
  context().synchronize();
  EXPECT_EQ(test::disturbed_choices(), before);
}

INSTANTIATE_TEST_SUITE_P(Gpu, CudaQueues, testing::Values("Simulated", "Real"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockstep
