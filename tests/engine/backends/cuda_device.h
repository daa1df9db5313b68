// Fixture for tests that run on a simulated GPU, and on a real one if available.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "engine/backends/backend.h"
#include "engine/runtime/device_context.h"
#include "tests/engine/backends/simulated_gpu.h"

namespace lockstep::test {

inline constexpr Device kGpu{DeviceType::cuda, 0};

/// The test parameter is `Simulated` or `Real`. A process supports only one of them:
/// the other's tests are skipped. ctest runs each test in a separate process.
class OnCuda : public testing::TestWithParam<const char*> {
 protected:
  bool real() const { return std::string(GetParam()) == "Real"; }

  void SetUp() override {
    if (!real()) {
      simulate_gpus();
    } else if (gpus_are_simulated()) {
      GTEST_SKIP() << "this process has a simulated GPU; run this test alone";
    } else if (const CudaStatus status = cuda_status(); status.gpus.empty()) {
      GTEST_SKIP() << status.why_not;
    }
    options_ = backend_options();
    backend_options().tf32 = false;
    forget_plans();
  }
  void TearDown() override {
    if (IsSkipped()) return;
    backend_options() = options_;
    forget_plans();
  }
  /// Call where bits are compared: cuDNN's other engines may add in any order.
  static void require_determinism() {
    backend_options().deterministic = true;
    forget_plans();
  }
  /// Takes the blocks of this size that are free, so that the next one to be freed is
  /// the one that is reused. Call after `synchronize`: other streams may use more.
  static void take_free_blocks(Tensors& taken, const Shape& sizes) {
    const runtime::Allocator& allocator = runtime::context(kGpu).allocator();
    const int64_t held = allocator.held_bytes();
    do {
      taken.push_back(Tensor::empty(sizes, kGpu));
    } while (allocator.held_bytes() == held);
  }
  /// Call after changing options.
  static void forget_plans() { backend_of(DeviceType::cuda).clear_cache(); }

 private:
  BackendOptions options_;
};

}  // namespace lockstep::test
