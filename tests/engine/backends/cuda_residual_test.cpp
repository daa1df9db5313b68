// Residual blocks on a CUDA device: the batch norm at a block's end also adds the
// shortcut, and its backward pass also adds the gradients that arrive at the block's
// end. The same bits as kernels of their own.
// sanitize: address
#include <map>
#include <string>

#include "engine/autograd/engine.h"
#include "engine/ops/fusions.h"
#include "engine/ops/ops.h"
#include "engine/runtime/device_context.h"
#include "tests/engine/backends/cuda_device.h"
#include "tests/engine/golden.h"
#include "tests/engine/values.h"
#include "tracer/record/collect.h"

namespace lockstep {
namespace {

/// What a residual block computes, and the kernels that it ran.
struct Computed {
  std::map<std::string, std::vector<double>> values;
  std::map<std::string, int> kernels;
};

struct Block {
  Shape sizes;
  bool relu = true, training = true;
};

/// Runs y = relu(bn(x ∗ w) + z ∗ w), then y ∗ u + y ∗ v, so that the gradient of y
/// arrives in two parts, forward and backward. Convolutions put what they compute in
/// the order of activations.
Computed run_block(Device device, const Block& block) {
  const DType type = device.type == DeviceType::cuda ? DType::f32 : DType::f64;
  const int64_t channels = block.sizes[1];
  const auto made = [&](const char* name, const Shape& sizes) {
    return test::leaf(device, test::signed_tensor(name, sizes, 1, type));
  };
  const Tensor x = made("x", block.sizes), z = made("z", block.sizes);
  const Tensor w = made("w", {channels, channels, 1, 1});
  const Tensor u = made("u", w.sizes()).detach(), v = made("v", w.sizes()).detach();
  const Tensor gamma = made("gamma", {channels}), beta = made("beta", {channels});
  const Tensor mean = made("mean", {channels}).detach();
  const Tensor var = ops::full_like(mean, 2);
  const Tensor dy = test::on(device, test::signed_tensor("dy", block.sizes, 1, type));
  runtime::context(device).synchronize();
  tracer::start_recording();
  {
    const Tensor shortcut = ops::conv2d(z, w, {});
    Tensor y = ops::batch_norm(ops::conv2d(x, w, {}), {gamma, beta, mean, var, {}},
                               block.training);
    ops::add_(y, shortcut);
    if (block.relu) ops::relu_(y);
    const Tensor sum = ops::add(ops::conv2d(y, u, {}), ops::conv2d(y, v, {}));
    y = Tensor();
    autograd::backward(sum, dy);
  }
  runtime::context(device).synchronize();
  tracer::stop_recording();
  Computed computed;
  for (const tracer::Event& event : tracer::collect()) {
    if (event.is("kernel")) ++computed.kernels[event.name];
  }
  computed.values = {{"dx", test::values_of(x.grad())},
                     {"dz", test::values_of(z.grad())},
                     {"dgamma", test::values_of(gamma.grad())},
                     {"dbeta", test::values_of(beta.grad())},
                     {"mean", test::values_of(mean)},
                     {"var", test::values_of(var)}};
  return computed;
}

class CudaResidual : public test::OnCuda {
 protected:
  /// Runs the block with kernels of their own: none is held back.
  static Computed run_separately(const Block& block) {
    runtime::options().launch_blocking = true;
    const Computed computed = run_block({DeviceType::cuda, 0}, block);
    runtime::options().launch_blocking = false;
    return computed;
  }
};

// In one launch, in two, without packs of channels, and so small that freed memory is
// reused for all sorts of results.
const Block kBlocks[] = {{{2, 8, 3, 3}},
                         {{1, 8, 65, 64}},
                         {{2, 3, 3, 2}},
                         {{1, 3, 2, 1}},
                         {{2, 8, 3, 3}, false}};

TEST_P(CudaResidual, TheBatchNormAddsTheShortcut) {
  require_determinism();
  for (const Block& block : kBlocks) {
    const Computed found = run_block({DeviceType::cuda, 0}, block);
    const Computed apart = run_separately(block);
    EXPECT_EQ(apart.kernels.at("add"), 4)
        << "the shortcut, the sum at the end, its gradient, the gradient of w";
    EXPECT_EQ(apart.kernels.count("relu") + apart.kernels.count("relu_backward"),
              block.relu ? 2 : 0);
    EXPECT_EQ(found.kernels.at("add"), 2) << "the sum at the end, the gradient of w";
    EXPECT_EQ(found.kernels.count("relu") + found.kernels.count("relu_backward"), 0);
    EXPECT_EQ(found.kernels.at("batch_norm"), 1);
    EXPECT_EQ(found.kernels.at("batch_norm_backward"), 1);
    EXPECT_EQ(found.values, apart.values) << block.sizes.str();
  }
}

TEST_P(CudaResidual, EqualsTheDefinition) {
  for (Block block : kBlocks) {
    for (const bool training : {true, false}) {
      block.training = training;
      const Computed found = run_block({DeviceType::cuda, 0}, block);
      const Computed wanted = run_block(test::kReference, block);
      for (const auto& [name, values] : wanted.values) {
        for (size_t i = 0; i < values.size(); ++i) {
          EXPECT_NEAR(found.values.at(name)[i], values[i], 2e-4)
              << name << "[" << i << "] of " << block.sizes.str();
        }
      }
    }
  }
}

TEST_P(CudaResidual, InEvaluationModeToo) {
  require_determinism();
  Block block{{2, 8, 3, 3}};
  block.training = false;
  const Computed found = run_block({DeviceType::cuda, 0}, block);
  EXPECT_EQ(found.kernels.at("add"), 2);
  EXPECT_EQ(found.values, run_separately(block).values);
}

TEST_P(CudaResidual, HasTheSameBitsInBfloat16) {
  require_determinism();
  backend_options().amp = true;
  forget_plans();
  const Device gpu{DeviceType::cuda, 0};
  const Tensor x = test::on(gpu, test::signed_tensor("x", {2, 8, 4, 4}, 1, DType::f32));
  const auto run = [&] {
    const Tensor w =
        test::leaf(gpu, test::signed_tensor("w", {8, 8, 3, 3}, 0.3, DType::f32));
    const Tensor ones =
        ops::full_like(test::on(gpu, test::signed_tensor("c", {8}, 1, DType::f32)), 1);
    const Tensor gamma = ones.detach().set_requires_grad(true);
    const Tensor first = ops::conv2d(x, w, {}, {1, 1});
    Tensor y = ops::batch_norm(first, {gamma, ones, ones, ones, {}}, true);
    ops::add_(y, first);
    ops::relu_(y);
    autograd::backward(ops::add(ops::conv2d(y, w, {}, {1, 1}), y), first.detach());
    return std::vector{test::values_of(y.detach()), test::values_of(w.grad()),
                       test::values_of(gamma.grad())};
  };
  const auto found = run();
  runtime::options().launch_blocking = true;
  const auto apart = run();
  runtime::options().launch_blocking = false;
  EXPECT_EQ(found, apart);
}

/// x + x in place is not read after it was written.
TEST_P(CudaResidual, ASumWithItselfIsNotFused) {
  const Device gpu{DeviceType::cuda, 0};
  const Tensor ones =
      ops::full_like(test::on(gpu, test::signed_tensor("c", {8}, 1, DType::f32)), 1);
  const Tensor x = test::on(gpu, test::signed_tensor("x", {2, 8, 3, 3}, 1, DType::f32));
  const auto batch_norm = [&] {
    const Tensor mean = ops::full_like(ones, 1), var = ops::full_like(ones, 1);
    return ops::batch_norm(x, {ones, ones, mean, var, {}}, true);
  };
  const Tensor once = batch_norm();
  Tensor twice = batch_norm();
  ops::add_(twice, twice);
  std::vector<double> wanted = test::values_of(once);
  for (double& value : wanted) value *= 2;
  EXPECT_EQ(test::values_of(twice), wanted);
}

/// What the addition reads is free when the fused kernel gets its memory. dx may have
/// the same memory, since each element is read before it is written; nothing else may.
/// In bfloat16, where a gradient of gamma would overwrite elements of other channels.
TEST_P(CudaResidual, MemoryThatIsFreeIsReadBeforeItIsReused) {
  require_determinism();
  backend_options().amp = true;
  forget_plans();
  const Device gpu{DeviceType::cuda, 0};
  const autograd::NoGrad no_grad;
  const auto made = [&](const std::string& name, const Shape& sizes) {
    return test::on(gpu, test::signed_tensor(name, sizes, 1, DType::f32));
  };
  const Shape sizes{1, 16, 4, 4};  // the allocator's smallest block
  const Tensor w = made("w", {16, 16, 1, 1}), ones = ops::full_like(made("c", {16}), 1);
  const Tensor sources[] = {made("x", sizes), made("a", sizes), made("b", sizes)};
  Attributes attributes;
  attributes.eps = 1e-5;
  Tensors taken;  // all free blocks
  const auto run = [&](bool dx_gets_b) {
    const Tensor x = ops::conv2d(sources[0], w, {});
    Tensor sum = ops::conv2d(sources[1], w, {}), b = ops::conv2d(sources[2], w, {});
    runtime::context(gpu).synchronize();
    take_free_blocks(taken, {8});
    Tensor other = Tensor::empty({128}, gpu);  // as many bytes as b
    const void* const next = (dx_gets_b ? b : other).view().data;
    tracer::start_recording();
    ops::add_(sum, b);
    (dx_gets_b ? b : other) = Tensor();
    (dx_gets_b ? other : b) = Tensor();
    const TensorSpec channels = ones.spec();
    const Tensors made = ops::compute_after_sum(
        OpCode::batch_norm_backward, {x, sum, ones, ones, ones, {}},
        {{sizes, DType::f32, nullptr}, channels, channels}, attributes);
    EXPECT_EQ(made[0].view().data, next) << "the block that was freed first";
    runtime::context(gpu).synchronize();
    tracer::stop_recording();
    int additions = 0;
    for (const tracer::Event& event : tracer::collect()) {
      additions += event.is("kernel") && event.name == "add";
    }
    EXPECT_EQ(additions, 0) << "fused in both cases";
    return std::vector{test::values_of(made[0]), test::values_of(made[1]),
                       test::values_of(made[2]), test::values_of(sum)};
  };
  EXPECT_EQ(run(true), run(false));
}

INSTANTIATE_TEST_SUITE_P(Gpu, CudaResidual, testing::Values("Simulated", "Real"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockstep
