// Two devices run concurrently with one oneDNN engine and one cache of primitives. They
// must not share scratch memory, or results differ from run to run.
// sanitize: thread
#include <latch>
#include <thread>

#include "tests/engine/backends/shapes.h"

namespace lockstep {
namespace {

constexpr int kRounds = 20;
const Shape kSizes{2, 64, 16, 16};

/// A convolution and a batch normalization, forward and backward.
std::vector<double> layers(Device device) {
  auto make = [&](const char* name, double size, double shift) {
    return test::on(device, test::rounded(name, {64}, DType::f32, size, shift));
  };
  const Tensor x = test::leaf(device, test::rounded("x", kSizes, DType::f32));
  const Tensor gamma = make("gamma", 0.2, 1).set_requires_grad(true);
  const Tensor beta = make("beta", 0.1, 0).set_requires_grad(true);
  const Tensor count = test::on(device, Tensor::scalar(0, DType::i64));
  const Tensor blocks =
      ops::conv2d(x, test::identity(device, DType::f32, kSizes[1]), {}, {});
  const Tensor y = ops::batch_norm(
      blocks, {gamma, beta, make("mean", 0.1, 0), make("var", 0.25, 1.25), count},
      true);
  test::backward_from(y);
  std::vector<double> all;
  for (const Tensor& tensor : {y, x.grad(), gamma.grad(), beta.grad()}) {
    const auto values = test::values_of(tensor);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

TEST(CpuDevices, ConcurrentWorkGivesTheSameBits) {
  if (!has_backend(DeviceType::cpu)) GTEST_SKIP() << "built without oneDNN";
  std::vector<double> results[2][kRounds];
  std::latch together(2);
  auto work = [&](int d) {
    together.arrive_and_wait();
    for (auto& result : results[d]) result = layers({DeviceType::cpu, d});
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  for (int round = 0; round < kRounds; ++round) {
    EXPECT_TRUE(results[0][round] == results[0][0]) << "round " << round;
    EXPECT_TRUE(results[1][round] == results[0][0]) << "round " << round;
  }
}

}  // namespace
}  // namespace lockstep
