// Operations that a CUDA device computes together with the one before them, and data
// that it prepares once for two operations: fewer kernels, the same values.
#include <algorithm>
#include <map>
#include <string>

#include "engine/autograd/engine.h"
#include "engine/models/zoo.h"
#include "engine/ops/ops.h"
#include "engine/optim/adaptive.h"
#include "engine/runtime/device_context.h"
#include "engine/train/input_hooks.h"
#include "tests/engine/backends/cuda_device.h"
#include "tests/engine/backends/host_machine.h"
#include "tests/engine/golden.h"
#include "tests/engine/values.h"
#include "tracer/record/collect.h"

namespace lockstep {
namespace {

class CudaFusions : public test::OnCuda {};

/// Returns how often each kernel ran since recording started, and stops it.
std::map<std::string, int> kernels() {
  runtime::context({DeviceType::cuda, 0}).synchronize();
  tracer::stop_recording();
  std::map<std::string, int> found;
  for (const tracer::Event& event : tracer::collect()) {
    if (event.is("kernel")) ++found[event.name];
  }
  return found;
}

/// Returns dx of Σ (2 relu(x) + 3 relu(x)), where relu's gradient arrives in two parts.
std::vector<double> gradient_of_a_block(Device device) {
  const Tensor x =
      test::on(device, test::vector({-1, 2, -3, 0, 5, 6, -7, 8, 9}, DType::f32));
  Tensor leaf = x;
  leaf.set_requires_grad(true);
  const Tensor y = ops::relu(leaf);
  const Tensor sum = ops::add(ops::scale(y, 2), ops::scale(y, 3));
  autograd::backward(
      sum, test::on(device, test::vector({1, 2, 3, 4, 5, 6, 7, 8, 9}, DType::f32)));
  return test::values_of(leaf.grad());
}

TEST_P(CudaFusions, AReluSGradientJoinsTheSumOfItsParts) {
  tracer::start_recording();
  const std::vector<double> found = gradient_of_a_block({DeviceType::cuda, 0});
  const std::map<std::string, int> count = kernels();
  EXPECT_EQ(count.count("relu_backward"), 0u) << "it is fused into the addition";
  EXPECT_EQ(count.at("add"), 2) << "forward and backward";
  EXPECT_EQ(found, (std::vector<double>{0, 10, 0, 0, 25, 30, 0, 40, 45}));
}

/// A leaf between the two: its mark in the trace must not prevent the fusion, or a
/// traced step would run other kernels than the step without a trace.
TEST_P(CudaFusions, TheMarkOfALeafSGradientChangesNothing) {
  const Device gpu{DeviceType::cuda, 0};
  Tensor x = test::on(gpu, test::vector({-1, 2}, DType::f32).reshaped({1, 2}));
  Tensor w = test::on(gpu, test::vector({1, 2, 3, 4}, DType::f32).reshaped({2, 2}));
  x.set_requires_grad(true);
  w.set_requires_grad(true);
  tracer::start_recording();
  const Tensor y = ops::relu(x);
  const Tensor sum = ops::add(ops::linear(y, w, {}), y);
  autograd::backward(sum,
                     test::on(gpu, test::vector({1, 1}, DType::f32).reshaped({1, 2})));
  EXPECT_EQ(kernels().count("relu_backward"), 0u);
  EXPECT_EQ(test::values_of(x.grad()), (std::vector<double>{0, 7}));
  EXPECT_EQ(test::values_of(w.grad()), (std::vector<double>{0, 2, 0, 2}));
}

/// A batch norm over few rows is one launch, forward and backward.
TEST_P(CudaFusions, LaunchesOfABatchNorm) {
  if (real()) GTEST_SKIP() << "only the simulated GPU counts launches";
  const Device gpu{DeviceType::cuda, 0};
  const auto launches = [&](const Shape& sizes) {
    const Tensor x = test::leaf(gpu, test::signed_tensor("x", sizes, 1, DType::f32));
    const Tensor ones =
        ops::full_like(test::on(gpu, test::signed_tensor("c", {8}, 1, DType::f32)), 1);
    Tensor gamma = ones.detach();
    gamma.set_requires_grad(true);
    const Tensor dy = test::on(gpu, test::signed_tensor("dy", sizes, 1, DType::f32));
    runtime::context(gpu).synchronize();
    const int64_t before = test::HostMachine::launches();
    const Tensor y = ops::batch_norm(x, {gamma, ones, ones, ones, {}}, true);
    autograd::backward(y, dy);
    runtime::context(gpu).synchronize();
    return test::HostMachine::launches() - before;
  };
  EXPECT_EQ(launches({4096, 8, 1, 1}), 2);
  EXPECT_EQ(launches({4097, 8, 1, 1}), 4);
}

/// Without gradients nothing keeps a batch norm's input and statistics, so the mask of
/// a ReLU that is fused into it could get the same memory: the allocator's smallest
/// block holds 512 bytes. With `taken` of these three blocks taken, the mask gets the
/// next.
TEST_P(CudaFusions, AMaskDoesNotOverwriteAnInputThatIsFree) {
  const Device gpu{DeviceType::cuda, 0};
  const autograd::NoGrad no_grad;
  const auto made = [&](const char* name, const Shape& sizes) {
    return test::on(gpu, test::signed_tensor(name, sizes, 1, DType::f32));
  };
  const Tensor w = made("w", {8, 8, 1, 1}), ones = ops::full_like(made("c", {8}), 1);
  Tensors all_free;
  bool fused = false;
  const auto run = [&](int taken) {
    const Tensor mean = ops::full_like(ones, 0), var = ops::full_like(ones, 1);
    Tensor y = ops::conv2d(made("x", {1, 8, 4, 4}), w, {});
    runtime::context(gpu).synchronize();
    take_free_blocks(all_free, {8});
    y = ops::batch_norm(y, {ones, ones, mean, var, {}}, true);
    Tensors blocks;
    for (int i = 0; i < taken; ++i) blocks.push_back(Tensor::empty({8}, gpu));
    tracer::start_recording();
    ops::relu_(y);
    fused = kernels().count("relu") == 0;
    return std::vector{test::values_of(y), test::values_of(mean), test::values_of(var)};
  };
  runtime::options().launch_blocking = true;
  const auto wanted = run(0);
  runtime::options().launch_blocking = false;
  for (int taken = 0; taken < 4; ++taken) {
    EXPECT_EQ(run(taken), wanted) << taken;
    EXPECT_EQ(fused, taken == 3) << taken;
  }
}

/// The same of the workspace, if a fused convolution needs a larger one.
TEST_P(CudaFusions, AWorkspaceDoesNotOverwriteAnInputThatIsFree) {
  if (real()) GTEST_SKIP() << "cuDNN chooses its workspaces";
  const Device gpu{DeviceType::cuda, 0};
  const autograd::NoGrad no_grad;
  const Tensor w = test::on(gpu, test::signed_tensor("w", {8, 8, 1, 1}, 1, DType::f32));
  const Shape sizes{4096, 8, 1, 1};
  const auto run = [&](size_t workspace) {
    test::HostMachine::set_fused_workspace(workspace);
    forget_plans();
    runtime::context(gpu).synchronize();
    Tensor x = ops::scale(  // on the stream of kernels, unlike a copy
        test::on(gpu, test::signed_tensor("x", sizes, 1, DType::f32)), 1);
    Tensor y = ops::conv2d(x, w, {});
    Tensors others;
    take_free_blocks(others, sizes);
    x = {};
    ops::relu_(y);
    return test::values_of(y);
  };
  const auto wanted = run(test::HostMachine::kWorkspace);
  EXPECT_EQ(run(sizes.numel() * sizeof(float)), wanted);
  test::HostMachine::set_fused_workspace(test::HostMachine::kWorkspace);
}

/// The gradients of a convolution's weights stay in cuDNN's order.
TEST_P(CudaFusions, OptimizersReadGradientsInTheOrderOfCudnn) {
  for (const optim::AnyOptions& options :
       {optim::AnyOptions(optim::SgdOptions{0.1, 0.9, 1e-2}),
        optim::AnyOptions(optim::AdamOptions{.weight_decay = 1e-2, .amsgrad = true}),
        optim::AnyOptions(optim::RmspropOptions{.momentum = 0.9, .centered = true})}) {
    const auto trained = [&](Device device, DType type) {
      const Tensor x =
          test::on(device, test::signed_tensor("x", {2, 3, 5, 5}, 1, type));
      const Tensor w =
          test::leaf(device, test::signed_tensor("w", {4, 3, 3, 2}, 1, type));
      const Tensor dy =
          test::on(device, test::signed_tensor("dy", {2, 4, 3, 4}, 1, type));
      const auto optimizer = optim::make_optimizer({{"w", w}}, options);
      for (int step = 0; step < 2; ++step) {
        autograd::backward(ops::conv2d(x, w, {}, {}), dy);
        EXPECT_EQ(w.grad().is_plain(), device.type != DeviceType::cuda);
        optimizer->step();
        optimizer->zero_grad();
      }
      return w;
    };
    EXPECT_LE(test::relative_l2(trained({DeviceType::cuda, 0}, DType::f32),
                                trained(test::kReference, DType::f64)),
              1e-5)
        << "optimizer " << options.index();
  }
}

/// Makes the simulated GPU count launches without computing anything.
struct OnlyCounting {
  OnlyCounting() { test::HostMachine::set_computes(false); }
  ~OnlyCounting() { test::HostMachine::set_computes(true); }
};

/// A training step of ResNet18 (CIFAR's stem) in float32. Each of its 20 convolutions
/// launches 1 kernel forward and 2 backward (weight gradient, data gradient); each of
/// its 20 batch norms 1 and 1, or 2 and 2 over more than 4,096 rows (15 of them, for
/// the larger batch); of the 8 residual additions, the 3 behind a downsampling launch a
/// kernel of their own.
TEST_P(CudaFusions, LaunchesOfAResNet18Step) {
  if (real()) GTEST_SKIP() << "only the simulated GPU counts launches";
  const OnlyCounting only_counting;
  const Device gpu{DeviceType::cuda, 0};
  const auto launches = [&](const Shape& sizes, bool normalizes) {
    const nn::ModulePtr net = models::make("resnet18", {});
    net->to(gpu);
    train::reorder_at_once(*net);
    optim::Sgd sgd(net->named_parameters(), {0.1, 0.9, 1e-4});
    const Tensor images =
        test::on(gpu, Tensor::from(std::vector<double>(sizes.numel()), sizes,
                                   normalizes ? DType::u8 : DType::f32));
    const Tensor labels = test::on(gpu, test::golden_labels(sizes[0], 10));
    const auto step = [&] {
      const int64_t before = test::HostMachine::launches();
      Tensor x = images;
      if (normalizes) x = ops::normalize_images(x, {0, 0, 0}, {1, 1, 1});
      ops::cross_entropy((*net)(x), labels).backward();
      sgd.step();
      sgd.zero_grad();
      runtime::context(gpu).synchronize();
      return test::HostMachine::launches() - before;
    };
    step();  // creates the momentum buffers
    return step();
  };
  EXPECT_EQ(launches({1, 3, 16, 16}, false), 118);
  EXPECT_EQ(launches({128, 3, 32, 32}, false), 148);
  // One more: its result is in the order that convolutions read.
  EXPECT_EQ(launches({1, 3, 16, 16}, true), 119);
  EXPECT_EQ(launches({128, 3, 32, 32}, true), 149);
}

INSTANTIATE_TEST_SUITE_P(Gpu, CudaFusions, testing::Values("Simulated", "Real"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockstep
