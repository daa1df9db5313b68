// Whole nets in float32 on oneDNN. The error against float64 is at most five times that
// of PyTorch's own float32 runs (float32_spread.json holds their spread).
#include <algorithm>

#include "engine/backends/backend.h"
#include "tests/engine/golden.h"

namespace lockstep {
namespace {

/// A net after one forward and backward pass. It holds the gradients.
struct Passed {
  nn::ModulePtr model;
  double loss = 0;
  std::vector<double> logits;
};

Passed forward_and_backward(const std::string& net, DeviceType type, DType dtype) {
  const Device device{type, 0};
  nn::ModulePtr model = test::golden_model(net, dtype);
  model->to(device);
  const Tensor images = ops::copy_to(
      test::signed_tensor("images", {4, 3, 32, 32}, 1.7, dtype), device, {"h2d"});
  const Tensor labels = ops::copy_to(test::golden_labels(4, 10), device, {"h2d"});
  const Tensor logits = (*model)(images);
  const Tensor loss = ops::cross_entropy(logits, labels);
  loss.backward();
  return {model, ops::item(loss), test::values_of(logits)};
}

/// Squares of the distance between vectors, and of the length of the second.
struct Squares {
  double difference = 0, norm = 0;

  void add(const std::vector<double>& a, const std::vector<double>& b) {
    for (size_t i = 0; i < a.size(); ++i) {
      difference += (a[i] - b[i]) * (a[i] - b[i]);
      norm += b[i] * b[i];
    }
  }
  double relative() const { return std::sqrt(difference / norm); }
};

/// Of the gradients of all parameters, one parameter at a time: VGG16 has 138 million.
double distance_of_gradients(const Passed& a, const Passed& b) {
  Squares squares;
  const std::vector<Tensor> of_b = b.model->parameters();
  size_t i = 0;
  for (const Tensor& parameter : a.model->parameters()) {
    squares.add(test::values_of(parameter.grad()), test::values_of(of_b[i++].grad()));
  }
  return squares.relative();
}

class CpuNet : public testing::TestWithParam<const char*> {};

TEST_P(CpuNet, IsAsCloseToFloat64AsPyTorchsFloat32) {
  if (!has_backend(DeviceType::cpu)) GTEST_SKIP() << "built without oneDNN";
  const std::string net = GetParam();
  const test::Json spread = test::read_golden("float32_spread.json")["spread"];
  const test::Json largest = spread["net_" + net]["largest"];
  const Passed exact = forward_and_backward(net, DeviceType::reference, DType::f64);
  const Passed ours = forward_and_backward(net, DeviceType::cpu, DType::f32);
  Squares logits;
  logits.add(ours.logits, exact.logits);
  EXPECT_LE(logits.relative(), 5 * double(largest["logits"]));
  EXPECT_LE(distance_of_gradients(ours, exact), 5 * double(largest["gradient"]));
  EXPECT_LE(std::abs(ours.loss - exact.loss),
            5 * std::max(double(largest["loss"]), 6e-8) * std::max(1.0, exact.loss));
}

INSTANTIATE_TEST_SUITE_P(GoldenNets, CpuNet,
                         testing::Values("resnet18_cifar", "resnet18_imagenet"),
                         [](const auto& info) { return std::string(info.param); });
INSTANTIATE_TEST_SUITE_P(Large, CpuNet, testing::Values("vgg16", "vgg16_bn"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockstep
