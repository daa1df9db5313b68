// Whole nets in double on the reference backend: logits, loss, every gradient and ten
// SGD steps (three of nets with more than 10 million parameters) match PyTorch's
// float64 to 1e-9.
#include "engine/optim/sgd.h"
#include "tests/engine/golden.h"

namespace lockstep {
namespace {

class GoldenNet : public testing::TestWithParam<const char*> {};

TEST_P(GoldenNet, EqualsPyTorchInDouble) {
  constexpr double kTolerance = 1e-9;
  const std::string net = GetParam();
  const test::Json golden = test::read_golden("net_" + net + ".json");
  const Device device{DeviceType::reference, 0};

  nn::ModulePtr model = test::golden_model(net, DType::f64);
  model->to(device);
  std::vector<int64_t> sizes{golden["batch"].get<int64_t>()};
  for (int64_t size : golden["image"]) sizes.push_back(size);
  const Tensor images = ops::copy_to(
      test::signed_tensor("images", Shape(sizes), 1.7, DType::f64), device, {"h2d"});
  const Tensor labels =
      ops::copy_to(test::golden_labels(sizes[0], golden["classes"]), device, {"h2d"});

  optim::Sgd sgd(model->named_parameters(), {golden["sgd"]["lr"], 0.9, 1e-4});
  const size_t steps = golden["sgd"]["losses"].size();
  ASSERT_GE(steps, 3u);
  for (size_t step = 0; step < steps; ++step) {
    const Tensor logits = (*model)(images);
    const Tensor loss = ops::cross_entropy(logits, labels);
    sgd.zero_grad();
    loss.backward();
    const double golden_loss = golden["sgd"]["losses"][step];
    EXPECT_NEAR(ops::item(loss), golden_loss, kTolerance * std::max(1.0, golden_loss));
    if (step == 0) {
      const std::vector<double> mine = test::values_of(logits);
      for (size_t i = 0; i < mine.size(); ++i) {
        const size_t classes = golden["logits"][0].size();
        const double theirs = golden["logits"][i / classes][i % classes];
        EXPECT_NEAR(mine[i], theirs, kTolerance * 10);
      }
      for (auto& [name, parameter] : model->named_parameters()) {
        test::expect_fingerprint(name, parameter.grad(), golden["gradients"][name],
                                 kTolerance);
      }
    }
    sgd.step();
  }
  for (auto& [name, parameter] : model->named_parameters()) {
    test::expect_fingerprint(name, parameter, golden["sgd"]["state"][name], kTolerance);
  }
  for (auto& [name, buffer] : model->named_buffers()) {
    if (!golden["sgd"]["state"].contains(name)) continue;  // num_batches_tracked
    test::expect_fingerprint(name, buffer, golden["sgd"]["state"][name], kTolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Nets, GoldenNet,
                         testing::Values("toy", "resnet18_cifar", "resnet20"),
                         [](const auto& info) { return std::string(info.param); });
INSTANTIATE_TEST_SUITE_P(Large, GoldenNet,
                         testing::Values("alexnet", "resnet18_imagenet", "vgg16",
                                         "vgg16_bn"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockstep
