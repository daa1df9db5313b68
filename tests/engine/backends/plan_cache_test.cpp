// The cache of plans: what may happen while a plan is being made.
// sanitize: address thread
#include <gtest/gtest.h>

#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

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
  const PlanPtr plan = backend.plan(request_of_kernel(3), {}, drain);
  EXPECT_EQ(backend.made, 2);
  EXPECT_EQ(backend.plan(request_of_kernel(3), {}, drain), plan);
  EXPECT_EQ(drained, 1);  // a plan that is kept needs no idle device
}

/// Each plan waits until two threads make one.
struct ConcurrentBackend : Backend {
  std::latch both{2};
  std::vector<std::optional<Device>> devices;

 protected:
  PlanPtr make_plan(const PlanRequest&) override {
    both.arrive_and_wait();
    const std::lock_guard lock(mutex_);
    devices.push_back(planning_device());
    return std::make_shared<Plan>();
  }
  bool plans_concurrently() const override { return true; }

 private:
  std::mutex mutex_;
};

/// Planning may wait for a GPU whose collective waits for a rank that is planning, too.
TEST(PlanCache, ThreadsPlanAtTheSameTimeEachOnItsDevice) {
  ConcurrentBackend backend;
  const std::vector<Device> devices{{DeviceType::cuda, 0}, {DeviceType::cuda, 1}};
  std::vector<PlanPtr> plans(2);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < 2; ++i) {
      threads.emplace_back(
          [&, i] { plans[i] = backend.plan(request_of_kernel(3), devices[i]); });
    }
  }
  EXPECT_EQ(plans[0], plans[1]);
  EXPECT_EQ(backend.plan(request_of_kernel(3)), plans[0]);
  ASSERT_EQ(backend.devices.size(), 2u);
  EXPECT_NE(backend.devices[0], backend.devices[1]);
  EXPECT_EQ(Backend::planning_device(), std::nullopt);
}

}  // namespace
}  // namespace lockstep
