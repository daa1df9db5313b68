// The cache of plans: what may happen while a plan is being made.
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "engine/backends/backend.h"

namespace lockstep {
namespace {

/// Makes empty plans, as if it timed every kernel.
struct TimingBackend : Backend {
  int made = 0;

 protected:
  PlanPtr make_plan(const PlanRequest&) override {
    ++made;
    return std::make_shared<Plan>();
  }
  bool times_kernels(OpCode) const override { return true; }
};

PlanRequest request_of_kernel(int64_t size) {
  PlanRequest request;
  request.code = OpCode::conv2d;
  request.attributes.kernel = {size, size};
  return request;
}

/// What a rank waits for may be sent by another rank of the process, which needs a plan
/// before that.
TEST(PlanCache, OthersGetPlansWhileADeviceDrains) {
  TimingBackend backend;
  int drained = 0;
  const auto drain = [&] {
    ++drained;
    std::thread([&] { backend.plan(request_of_kernel(1)); }).join();
  };
  const PlanPtr plan = backend.plan(request_of_kernel(3), drain);
  EXPECT_EQ(backend.made, 2);
  EXPECT_EQ(backend.plan(request_of_kernel(3), drain), plan);
  EXPECT_EQ(drained, 1);  // a plan that is kept needs no idle device
}

}  // namespace
}  // namespace lockstep
