// oneDNN in float32, operation by operation, against the reference loops in double:
// every convolution, pooling, normalization and linear layer of the nets that we train.
#include "tests/engine/backends/shapes.h"

namespace lockstep {
namespace {

using test::Convolution;

// Relative L2. Winograd is faster but less accurate.
constexpr double kDirect = 2e-6, kWinograd = 5e-6, kWeight = 2e-5, kGradient = 2e-5;

class Cpu : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!has_backend(DeviceType::cpu)) GTEST_SKIP() << "built without oneDNN";
    device_ = test::cpu_with_threads(GetParam());
  }
  /// The library's name for the kernel that runs `code`.
  std::string impl(OpCode code, const Tensors& in, const std::vector<TensorSpec>& out,
                   const Attributes& attributes) {
    PlanRequest request{code, {}, out, attributes, GetParam()};
    for (const Tensor& tensor : in) {
      request.in.push_back(tensor.defined() ? tensor.spec()
                                            : TensorSpec{{}, DType::u8, nullptr});
    }
    const std::string name = backend_of(DeviceType::cpu).plan(request)->impl;
    EXPECT_EQ(name.find("ref:"), std::string::npos) << name << " is a slow fallback";
    return name;
  }
  void TearDown() override { use(ConvAlgorithm::automatic); }
  void use(ConvAlgorithm algorithm) {
    if (!has_backend(DeviceType::cpu)) return;
    backend_options().conv = algorithm;
    backend_of(DeviceType::cpu).clear_cache();
  }
  void expect_convolution(const Convolution& c);
  Device device_;
};

double tolerance(const std::string& impl) {
  return impl.find("wino") != std::string::npos ? kWinograd : kDirect;
}

void Cpu::expect_convolution(const Convolution& c) {
  SCOPED_TRACE(c.str());
  const Shape x_size{c.batch, c.in, c.size, c.size},
      w_size{c.out, c.in, c.kernel, c.kernel};
  auto run = [&](Device device, DType type) {
    test::Layer l{test::leaf(device, test::rounded("x", x_size, type)),
                  test::leaf(device, test::rounded("w", w_size, type)),
                  {},
                  {}};
    if (c.bias) l.bias = test::leaf(device, test::rounded("b", {c.out}, type));
    l.y = ops::conv2d(l.x, l.weight, l.bias, {c.stride, c.padding});
    test::backward_from(l.y);
    return l;
  };
  const test::Layer truth = run(test::kReference, DType::f64);

  Attributes a;
  a.kernel = {c.kernel, c.kernel};
  a.stride = {c.stride, c.stride};
  a.padding = {c.padding, c.padding};
  for (const auto algorithm : {ConvAlgorithm::winograd, ConvAlgorithm::direct}) {
    use(algorithm);
    const test::Layer mine = run(device_, DType::f32);
    const TensorSpec y{mine.y.sizes(), DType::f32, nullptr};
    const Tensor dy = mine.y.detach();
    EXPECT_LE(
        test::relative_l2(mine.y, truth.y),
        tolerance(impl(OpCode::conv2d, {mine.x, mine.weight, mine.bias}, {y}, a)));
    EXPECT_LE(test::relative_l2(mine.x.grad(), truth.x.grad()),
              tolerance(impl(OpCode::conv2d_backward_data, {dy, mine.weight},
                             {mine.x.spec()}, a)));
    impl(OpCode::conv2d_backward_weight, {mine.x, dy}, {mine.weight.spec()}, a);
    EXPECT_LE(test::relative_l2(mine.weight.grad(), truth.weight.grad()), kWeight);
    if (!c.bias) continue;
    EXPECT_LE(test::relative_l2(mine.bias.grad(), truth.bias.grad()), kWeight);
  }
}

TEST_P(Cpu, ConvolutionsOfResNet18) {
  for (const Convolution& c : test::kResNet18) expect_convolution(c);
}
TEST_P(Cpu, ConvolutionsOfVgg16) {
  for (const Convolution& c : test::kVgg16) expect_convolution(c);
}
TEST_P(Cpu, ConvolutionsOfResNet50) {
  for (const Convolution& c : test::kResNet50) expect_convolution(c);
}

/// A 3×3 convolution, and whether Winograd's kernels compute it.
struct ConvolutionChoice {
  int64_t batch, in, out, size;
  bool with_avx512, with_avx2;
};

// The figures behind them: tests/bench/RESULTS.md.
constexpr ConvolutionChoice kConvolutionChoices[] = {
    // ResNets on CIFAR-10 with --stem imagenet, whose maps are 8×8 to 1×1.
    {16, 64, 64, 8, false, true},
    {31, 64, 64, 8, false, true},
    {32, 64, 64, 8, true, true},
    {256, 64, 64, 8, true, true},
    {4, 128, 128, 4, false, false},
    {32, 128, 128, 4, false, true},
    {64, 128, 128, 4, true, true},
    {256, 256, 256, 2, false, false},
    {256, 512, 512, 1, false, false},
    // With --stem cifar, and VGG16.
    {16, 64, 64, 32, true, true},
    {16, 128, 128, 16, true, true},
    {16, 256, 256, 8, true, true},
    {16, 512, 512, 4, false, false},
    {256, 512, 512, 4, true, true},
    {256, 512, 512, 2, false, false},
    // ImageNet's.
    {1, 64, 64, 56, true, true},
    {2, 256, 256, 14, false, true},
    {4, 256, 256, 14, true, true},
    {8, 512, 512, 7, false, true},
    {16, 512, 512, 7, true, true},
    // Tiles that are mostly outside the map, and few channels.
    {256, 256, 256, 3, false, false},
    {256, 256, 256, 5, false, false},
    {256, 256, 256, 6, false, false},
    {256, 16, 64, 8, false, true},
    {256, 64, 32, 8, false, true},
};

TEST_P(Cpu, WinogradWhereItIsFaster) {
  if (!__builtin_cpu_supports("avx2")) {
    GTEST_SKIP() << "this processor has no AVX2; Winograd's kernels need it";
  }
  Attributes a;
  a.kernel = {3, 3};
  a.padding = {1, 1};
  const auto spec = [](const Shape& sizes) {
    return TensorSpec{sizes, DType::f32, nullptr};
  };
  const TensorSpec large = spec({1, 64, 64, 64}), filters = spec({64, 64, 3, 3});
  const bool own =
      impl(OpCode::conv2d_backward_data, {Tensor::unset(large), Tensor::unset(filters)},
           {large}, a) == "lockstep:winograd";
  for (const ConvolutionChoice& c : kConvolutionChoices) {
    SCOPED_TRACE(testing::PrintToString(std::vector{c.batch, c.in, c.out, c.size}));
    const TensorSpec x = spec({c.batch, c.in, c.size, c.size}),
                     y = spec({c.batch, c.out, c.size, c.size}),
                     w = spec({c.out, c.in, 3, 3});
    const Tensor none, in = Tensor::unset(x), out = Tensor::unset(y),
                       weight = Tensor::unset(w);
    const bool wanted = own ? c.with_avx2 : c.with_avx512;
    for (const std::string& name :
         {impl(OpCode::conv2d, {in, weight, none}, {y}, a),
          impl(OpCode::conv2d_backward_data, {out, weight}, {x}, a),
          impl(OpCode::conv2d_backward_weight, {in, out}, {w}, a)}) {
      EXPECT_EQ(name.find("wino") != std::string::npos, wanted) << name;
    }
  }
}

/// Compares y and dx of a layer without parameters on both backends.
void expect_same(Device device, const Shape& sizes, double forward, double backward,
                 const std::function<Tensor(const Tensor&)>& layer) {
  auto run = [&](Device where, DType type) {
    const Tensor x = test::leaf(where, test::rounded("x", sizes, type));
    const Tensor y = layer(x);
    test::backward_from(y);
    return std::pair{y, x.grad()};
  };
  const auto [y, dx] = run(device, DType::f32);
  const auto [true_y, true_dx] = run(test::kReference, DType::f64);
  EXPECT_EQ(y.sizes(), true_y.sizes());
  EXPECT_LE(test::relative_l2(y, true_y), forward) << sizes.str();
  EXPECT_LE(test::relative_l2(dx, true_dx), backward) << sizes.str();
}

TEST_P(Cpu, Pools) {
  auto maximum = [](ops::Pool2dOptions o) {
    return [o](const Tensor& x) { return ops::max_pool2d(x, o); };
  };
  auto adaptive = [](int64_t size) {
    return [size](const Tensor& x) { return ops::adaptive_avg_pool2d(x, size, size); };
  };
  const std::pair<int64_t, int64_t> vgg[] = {
      {64, 32}, {128, 16}, {256, 8}, {512, 4}, {512, 2}};
  for (const auto& [channels, size] : vgg) {
    expect_same(device_, {4, channels, size, size}, kDirect, kDirect,
                maximum({2, 2, 0}));
  }
  expect_same(device_, {1, 64, 112, 112}, kDirect, kDirect, maximum({3, 2, 1}));
  expect_same(device_, {2, 3, 7, 9}, kDirect, kDirect, maximum({3, 2, 1}));
  for (const auto& [channels, size, to] :
       {std::tuple<int64_t, int64_t, int64_t>{512, 4, 1},
        {2048, 7, 1},
        {512, 1, 7},
        {512, 7, 7},
        {3, 5, 2}}) {
    expect_same(device_, {4, channels, size, size}, kDirect, kDirect, adaptive(to));
  }
  expect_same(device_, {4, 64, 8, 8}, kDirect, kDirect,
              [](const Tensor& x) { return ops::avg_pool2d(x, {3, 2, 1}); });
}

TEST_P(Cpu, PoolsHaveFastKernels) {
  const Tensor x = test::in_blocks(device_, {4, 64, 8, 8});
  Attributes a;
  a.kernel = a.stride = {2, 2};
  const TensorSpec y{{4, 64, 4, 4}, DType::f32, nullptr};
  impl(OpCode::max_pool2d, {x}, {y}, a);
  impl(OpCode::avg_pool2d, {x}, {y}, a);
  impl(OpCode::adaptive_avg_pool2d, {x}, {{{4, 64, 1, 1}, DType::f32, nullptr}}, {});
}

/// Output, gradients and running statistics of batch norm, with or without a fused
/// ReLU, on input in the blocked layout that convolutions produce.
std::array<Tensor, 6> batch_norm(Device device, DType type, const Shape& sizes,
                                 bool training, bool relu) {
  const Shape channels{sizes[1]};
  auto make = [&](const char* name, double size, double shift) {
    return test::on(device, test::rounded(name, channels, type, size, shift));
  };
  const Tensor x = test::leaf(device, test::rounded("x", sizes, type));
  Tensor gamma = make("gamma", 0.2, 1).set_requires_grad(true);
  Tensor beta = make("beta", 0.1, 0).set_requires_grad(true);
  const Tensor mean = make("mean", 0.1, 0), var = make("var", 0.25, 1.25);
  const Tensor count = test::on(device, Tensor::scalar(0, DType::i64));
  Tensor blocks = ops::conv2d(x, test::identity(device, type, sizes[1]), {}, {});
  Tensor y = ops::batch_norm(blocks, {gamma, beta, mean, var, count}, training);
  if (relu) ops::relu_(y);
  test::backward_from(y);
  EXPECT_EQ(ops::item(count), training);
  return {y, x.grad(), gamma.grad(), beta.grad(), mean, var};
}

TEST_P(Cpu, BatchNormWithAndWithoutRelu) {
  for (const Shape& sizes : {Shape{4, 64, 32, 32},
                             {4, 128, 16, 16},
                             {4, 512, 4, 4},
                             {1, 256, 14, 14},
                             {3, 5, 4, 6}}) {
    for (const bool training : {true, false}) {
      for (const bool relu : {true, false}) {
        SCOPED_TRACE(testing::Message()
                     << sizes.str() << " training " << training << " relu " << relu);
        const auto mine = batch_norm(device_, DType::f32, sizes, training, relu);
        const auto truth =
            batch_norm(test::kReference, DType::f64, sizes, training, relu);
        for (size_t i : {0, 4, 5}) {
          EXPECT_LE(test::relative_l2(mine[i], truth[i]), kDirect) << "result " << i;
        }
        for (size_t i : {1, 2, 3}) {
          EXPECT_LE(test::relative_l2(mine[i], truth[i]), kGradient) << "result " << i;
        }
      }
    }
  }
}

TEST_P(Cpu, BatchNormHasFastKernels) {
  const Tensor x = test::in_blocks(device_, {4, 64, 8, 8});
  const Tensor c = test::on(device_, test::rounded("c", {64}, DType::f32));
  const Tensor count = test::on(device_, Tensor::scalar(0, DType::i64));
  Attributes a;
  a.eps = 1e-5;
  for (const bool relu : {false, true}) {
    a.relu = relu;
    const std::vector<TensorSpec> out{x.spec(), c.spec(), c.spec()};
    impl(OpCode::batch_norm, {x, c, c, c, c, count}, out, a);
    impl(OpCode::batch_norm_backward, {x, x, c, c, c, {}}, out, a);
    impl(OpCode::batch_norm_eval, {x, c, c, c, c}, {x.spec()}, a);
  }
}

TEST_P(Cpu, LinearLayers) {
  for (const auto& [in, out] : {std::pair<int64_t, int64_t>{512, 10},
                                {2048, 1000},
                                {25088, 64},
                                {4096, 10},
                                {5, 2}}) {
    for (const int64_t batch : {1, 4}) {
      SCOPED_TRACE(testing::Message() << batch << ": " << in << " to " << out);
      auto run = [&, in = in, out = out](Device device, DType type) {
        test::Layer l{test::leaf(device, test::rounded("x", {batch, in}, type)),
                      test::leaf(device, test::rounded("w", {out, in}, type)),
                      test::leaf(device, test::rounded("b", {out}, type)),
                      {}};
        l.y = ops::linear(l.x, l.weight, l.bias);
        test::backward_from(l.y);
        return l;
      };
      const test::Layer mine = run(device_, DType::f32);
      const test::Layer truth = run(test::kReference, DType::f64);
      EXPECT_LE(test::relative_l2(mine.y, truth.y), kDirect);
      EXPECT_LE(test::relative_l2(mine.x.grad(), truth.x.grad()), kDirect);
      EXPECT_LE(test::relative_l2(mine.weight.grad(), truth.weight.grad()), kWeight);
      EXPECT_LE(test::relative_l2(mine.bias.grad(), truth.bias.grad()), kWeight);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, Cpu, testing::Values(1, 2));

}  // namespace
}  // namespace lockstep
