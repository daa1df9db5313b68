// Weights of convolutions and images are reordered for cuDNN in one launch.
// sanitize: address
#include <map>
#include <string>

#include "engine/autograd/engine.h"
#include "engine/models/zoo.h"
#include "engine/ops/ops.h"
#include "engine/runtime/device_context.h"
#include "engine/train/input_hooks.h"
#include "tests/engine/backends/cuda_device.h"
#include "tests/engine/backends/host_machine.h"
#include "tests/engine/golden.h"
#include "tests/engine/values.h"
#include "tracer/record/collect.h"

namespace lockstep {
namespace {

class CudaReorder : public test::OnCuda {
 protected:
  /// Weights of 3x3 and 1x1, and of images with 3 channels, which `--amp` pads.
  Tensors weights() const {
    const auto made = [](const char* name, const Shape& sizes) {
      return test::leaf(test::kGpu, test::signed_tensor(name, sizes, 0.3, DType::f32));
    };
    return {made("a", {8, 3, 3, 3}), made("b", {8, 8, 3, 3}), made("c", {4, 8, 1, 1})};
  }
  Tensor images() const {
    return test::on(test::kGpu, test::signed_tensor("x", {2, 3, 5, 4}, 1, DType::f32));
  }

  /// Returns the net's output and the gradients of its weights.
  static std::vector<std::vector<double>> train(const Tensor& images,
                                                const Tensors& weights) {
    Tensor y = images;
    for (const Tensor& weight : weights) {
      weight.set_grad({});
      y = ops::conv2d(y, weight, {}, {1, weight.size(2) / 2});
    }
    autograd::backward(y, ops::full_like(y, 0.5));
    std::vector<std::vector<double>> found{test::values_of(y.detach())};
    for (const Tensor& weight : weights)
      found.push_back(test::values_of(weight.grad()));
    return found;
  }
};

TEST_P(CudaReorder, ConvolutionsGetTheSameBits) {
  require_determinism();
  for (const bool amp : {false, true}) {
    backend_options().amp = amp;
    forget_plans();
    const Tensors w = weights();
    const auto wanted = train(images(), w);
    const Tensor x = ops::reorder_for_convolutions(images(), w);
    EXPECT_EQ(x.is_plain(), amp) << "--amp pads images of 3 channels in conv2d";
    EXPECT_EQ(w[1].meta().reordered != nullptr, true);
    EXPECT_EQ(w[2].meta().reordered != nullptr, amp) << "1x1: both orders coincide";
    EXPECT_EQ(train(x, w), wanted);
    EXPECT_EQ(w[1].meta().reordered, nullptr) << "used once";
    EXPECT_EQ(train(images(), w), wanted);
  }
}

TEST_P(CudaReorder, ACopyThatWasNotUsedIsForgotten) {
  const Tensors w = weights();
  ops::reorder_for_convolutions(images(), w);
  ops::forget_reordered(w);
  for (const Tensor& weight : w) EXPECT_EQ(weight.meta().reordered, nullptr);
}

TEST_P(CudaReorder, ImagesThatRequireAGradientKeepTheirPlace) {
  const Tensor x = images().set_requires_grad(true);
  EXPECT_TRUE(ops::reorder_for_convolutions(x, weights()).is(x));
}

TEST_P(CudaReorder, DevicesThatReadPlainMemoryDoNothing) {
  const Tensor x = test::on(test::kReference, test::random("x", {2, 3, 5, 4}));
  const Tensor w =
      test::leaf(test::kReference, test::vector({1}).reshaped({1, 1, 1, 1}));
  EXPECT_TRUE(ops::reorder_for_convolutions(x, {w}).is(x));
  EXPECT_EQ(w.meta().reordered, nullptr);
}

/// More weights than the table of one launch holds.
TEST_P(CudaReorder, SixtyFiveWeightsAreTwoLaunches) {
  if (real()) GTEST_SKIP() << "only the simulated GPU counts launches";
  const Tensor x =
      test::on(test::kGpu, test::signed_tensor("x", {1, 2, 3, 3}, 1, DType::f32));
  Tensors weights;
  for (int i = 0; i < 65; ++i) {
    weights.push_back(test::on(
        test::kGpu,
        test::signed_tensor("w" + std::to_string(i), {1, 2, 3, 3}, 1, DType::f32)));
  }
  std::vector<std::vector<double>> wanted;
  for (const Tensor& w : weights) {
    wanted.push_back(test::values_of(ops::conv2d(x, w, {})));
  }
  const int64_t before = test::HostMachine::launches();
  ops::reorder_for_convolutions(x, weights);
  runtime::context(test::kGpu).synchronize();
  EXPECT_EQ(test::HostMachine::launches() - before, 2);
  for (size_t i = 0; i < weights.size(); ++i) {
    EXPECT_EQ(test::values_of(ops::conv2d(x, weights[i], {})), wanted[i]) << i;
  }
}

TEST_P(CudaReorder, AModelUsesAllOfItsWeights) {
  const nn::ModulePtr net = models::make("resnet18", {.classes = 3});
  net->to(test::kGpu);
  train::reorder_at_once(*net);
  tracer::start_recording();
  (*net)(test::on(test::kGpu, test::signed_tensor("x", {2, 3, 16, 16}, 1, DType::f32)));
  runtime::context(test::kGpu).synchronize();
  tracer::stop_recording();
  std::map<std::string, int> count;
  for (const tracer::Event& event : tracer::collect()) {
    if (event.is("kernel")) ++count[event.name];
  }
  EXPECT_EQ(count["conv2d"], 20);
  EXPECT_EQ(count["reorder_many"], 1);
  for (const Tensor& parameter : net->parameters()) {
    EXPECT_EQ(parameter.meta().reordered, nullptr);
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, CudaReorder, testing::Values("Simulated", "Real"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockstep
