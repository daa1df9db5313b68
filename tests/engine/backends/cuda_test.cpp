// The CUDA backend, operation by operation, against the reference loops in double. Each
// test runs twice: on a simulated GPU (our kernels and plans, with loops in place of
// the libraries' matrix products), and on a real one if available.
// sanitize: address
#include <set>

#include <fmt/format.h>
#include "engine/backends/cuda/kernels/element.h"

#include "engine/optim/adaptive.h"
#include "engine/tensor/philox.h"
#include "tests/engine/backends/cuda_device.h"
#include "tests/engine/backends/shapes.h"

namespace lockstep {
namespace {

using test::Convolution;
using test::kReference;

// Relative L2 for float32 products.
constexpr double kForward = 5e-6, kBackward = 2e-5;
// The same where cuDNN may choose Winograd, which is faster but less accurate.
constexpr double kFastConvolution = 3e-5;

constexpr Device kCuda{DeviceType::cuda, 0};

class Cuda : public test::OnCuda {};

/// Small enough for the simulated GPU's loops.
const Convolution kSmall[] = {
    {2, 3, 8, 3, 1, 1, 8, true},  {2, 8, 8, 3, 1, 1, 8},  {2, 8, 16, 3, 2, 1, 8},
    {2, 8, 16, 1, 2, 0, 8, true}, {1, 3, 8, 7, 2, 3, 16}, {3, 5, 7, 3, 2, 1, 9, true},
    {2, 1, 4, 3, 1, 0, 6},        {2, 16, 4, 1, 1, 0, 1}, {2, 6, 1, 2, 2, 0, 2, true}};

void expect_convolution(const Convolution& c, bool relu, double forward,
                        double backward, bool print = false) {
  SCOPED_TRACE(c.str() + (relu ? " relu" : ""));
  const Shape x_size{c.batch, c.in, c.size, c.size},
      w_size{c.out, c.in, c.kernel, c.kernel};
  auto run = [&](Device device, DType type) {
    test::Layer l{test::leaf(device, test::rounded("x", x_size, type)),
                  test::leaf(device, test::rounded("w", w_size, type)),
                  {},
                  {}};
    if (c.bias) l.bias = test::leaf(device, test::rounded("b", {c.out}, type));
    l.y = ops::conv2d(l.x, l.weight, l.bias, {c.stride, c.padding});
    if (relu) ops::relu_(l.y);
    test::backward_from(l.y);
    return l;
  };
  const test::Layer mine = run(kCuda, DType::f32), truth = run(kReference, DType::f64);
  const double y = test::relative_l2(mine.y, truth.y),
               dx = test::relative_l2(mine.x.grad(), truth.x.grad()),
               dw = test::relative_l2(mine.weight.grad(), truth.weight.grad());
  if (print) fmt::print("{:40} y {:.1e}  dx {:.1e}  dw {:.1e}\n", c.str(), y, dx, dw);
  EXPECT_LE(y, forward);
  EXPECT_LE(dx, backward);
  EXPECT_LE(dw, backward);
  if (!c.bias) return;
  EXPECT_LE(test::relative_l2(mine.bias.grad(), truth.bias.grad()), backward);
}

TEST_P(Cuda, Convolutions) {
  for (const Convolution& c : kSmall) expect_convolution(c, false, kForward, kBackward);
  expect_convolution(kSmall[0], true, kForward, kBackward);
}

TEST_P(Cuda, ConvolutionsOfTheNets) {
  if (!real()) GTEST_SKIP() << "loops would take minutes; needs a GPU";
  for (const Convolution& c : test::kResNet18) {
    expect_convolution(c, false, kFastConvolution, kFastConvolution, true);
  }
  for (const Convolution& c : test::kVgg16) {
    expect_convolution(c, true, kFastConvolution, kFastConvolution, true);
  }
  for (const Convolution& c : test::kResNet50) {
    expect_convolution(c, false, kFastConvolution, kFastConvolution, true);
  }
}

TEST_P(Cuda, ConvolutionsInTf32) {
  if (!real()) GTEST_SKIP() << "only tensor cores have TF32; needs a GPU";
  backend_options().tf32 = true;
  for (const Convolution& c : test::kResNet18) {
    expect_convolution(c, false, 2e-3, 2e-3, true);
  }
}

/// Compares y and dx of a layer without parameters on both backends.
void expect_same(const Shape& sizes, const std::function<Tensor(const Tensor&)>& layer,
                 double tolerance = kForward) {
  SCOPED_TRACE(sizes.str());
  auto run = [&](Device where, DType type) {
    const Tensor x = test::leaf(where, test::rounded("x", sizes, type));
    // In the layout that a convolution produces, if there are channels.
    const Tensor in =
        sizes.rank() == 4
            ? ops::conv2d(x, test::identity(where, type, sizes[1]), {}, {})
            : x;
    const Tensor y = layer(in);
    test::backward_from(y);
    return std::pair{y, x.grad()};
  };
  const auto [y, dx] = run(kCuda, DType::f32);
  const auto [true_y, true_dx] = run(kReference, DType::f64);
  EXPECT_EQ(y.sizes(), true_y.sizes());
  EXPECT_LE(test::relative_l2(y, true_y), tolerance);
  EXPECT_LE(test::relative_l2(dx, true_dx), tolerance);
}

TEST_P(Cuda, Pools) {
  for (const ops::Pool2dOptions o :
       {ops::Pool2dOptions{2, 2, 0}, {3, 2, 1}, {3, 1, 1}, {2, 3, 0}}) {
    for (const Shape& sizes : {Shape{2, 3, 7, 9}, {1, 16, 8, 8}, {2, 1, 5, 5}}) {
      expect_same(sizes, [o](const Tensor& x) { return ops::max_pool2d(x, o); });
      expect_same(sizes, [o](const Tensor& x) { return ops::avg_pool2d(x, o); });
    }
  }
  for (const int64_t to : {1, 2, 7}) {
    for (const Shape& sizes : {Shape{2, 6, 7, 7}, {2, 6, 4, 4}, {3, 3, 5, 3}}) {
      expect_same(
          sizes, [to](const Tensor& x) { return ops::adaptive_avg_pool2d(x, to, to); });
    }
  }
}

TEST_P(Cuda, ElementByElement) {
  for (const Shape& sizes : {Shape{2, 6, 5, 3}, {7, 9}, {2, 1, 4, 4}, {3, 5, 1, 1}}) {
    expect_same(sizes, [](const Tensor& x) { return ops::relu(x); });
    expect_same(sizes, [](const Tensor& x) { return ops::scale(x, -0.3); });
    expect_same(sizes, [](const Tensor& x) { return ops::add(x, ops::relu(x)); });
    expect_same(sizes, [](const Tensor& x) {
      Tensor y = ops::add(x, ops::scale(x, 0.5));
      return ops::relu_(y);
    });
    expect_same(sizes, [](const Tensor& x) { return ops::flatten(x); });
  }
  expect_same({5, 11}, [](const Tensor& x) { return ops::log_softmax(x); });
}

TEST_P(Cuda, ArithmeticOfStatistics) {
  auto run = [](Device device, DType type) {
    autograd::NoGrad no_grad;
    const Tensor a = test::on(device, test::rounded("a", {3, 4}, type));
    const Tensor b = test::on(device, test::rounded("b", {3, 4}, type, 1, 2));
    const Tensor one = test::on(device, test::rounded("c", {1}, type, 1, 3));
    return Tensors{ops::sub(a, b),        ops::mul(a, b),         ops::div(a, b),
                   ops::sub(a, one),      ops::mul(a, one),       ops::div(a, one),
                   ops::cat({a, b, one}), ops::full_like(a, 1.25)};
  };
  const Tensors mine = run(kCuda, DType::f32), truth = run(kReference, DType::f64);
  for (size_t i = 0; i < mine.size(); ++i) {
    EXPECT_LE(test::relative_l2(mine[i], truth[i]), kForward) << "result " << i;
  }
}

TEST_P(Cuda, DropoutDrawsTheSameMask) {
  for (const Shape& sizes : {Shape{5, 7}, {2, 6, 3, 3}}) {
    ops::manual_seed(11);
    const auto x = [&](Device d, DType t) {
      return test::leaf(d, test::rounded("x", sizes, t));
    };
    const Tensor mine_x = x(kCuda, DType::f32);
    const Tensor mine = ops::dropout(mine_x, 0.4, true);
    test::backward_from(mine);
    ops::manual_seed(11);
    const Tensor true_x = x(kReference, DType::f64);
    const Tensor truth = ops::dropout(true_x, 0.4, true);
    test::backward_from(truth);
    EXPECT_LE(test::relative_l2(mine, truth), kForward);
    EXPECT_LE(test::relative_l2(mine_x.grad(), true_x.grad()), kForward);
  }
}

TEST(CudaKernels, PhiloxIsTheEngines) {
  for (const uint64_t key : {uint64_t{0}, uint64_t{1} << 40, ~uint64_t{0}}) {
    for (const uint64_t counter : {uint64_t{0}, uint64_t{7}, uint64_t{1} << 33}) {
      const auto theirs = Philox{key}.block(counter, 99);
      const auto mine = cuda::philox(key, counter, 99);
      for (int i = 0; i < 4; ++i) EXPECT_EQ(mine.word[i], theirs[i]);
    }
  }
}

TEST(CudaKernels, Bfloat16RoundsToTheNearestEven) {
  const auto rounded = [](float value) { return float(cuda::Bf16(value)); };
  EXPECT_EQ(rounded(1.0f), 1.0f);
  EXPECT_EQ(rounded(1.0f + 0x1p-8f), 1.0f);              // a tie: rounds down to even
  EXPECT_EQ(rounded(1.0f + 0x1.8p-7f), 1.0f + 0x1p-6f);  // a tie: rounds up to even
  EXPECT_EQ(rounded(1.0f + 0x1.1p-8f), 1.0f + 0x1p-7f);
  EXPECT_EQ(rounded(-3.140625f), -3.140625f);
  EXPECT_EQ(rounded(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(rounded(NAN)));
}

/// Output, gradients and running statistics, with or without a fused ReLU.
std::array<Tensor, 6> batch_norm(Device device, DType type, const Shape& sizes,
                                 bool training, bool relu, bool channels_last) {
  auto make = [&](const char* name, double size, double shift) {
    return test::on(device, test::rounded(name, {sizes[1]}, type, size, shift));
  };
  const Tensor x = test::leaf(device, test::rounded("x", sizes, type, 1, 3));
  Tensor gamma = make("gamma", 0.2, 1).set_requires_grad(true);
  Tensor beta = make("beta", 0.1, 0).set_requires_grad(true);
  const Tensor mean = make("mean", 0.1, 3), var = make("var", 0.25, 1.25);
  const Tensor count = test::on(device, Tensor::scalar(0, DType::i64));
  Tensor in = channels_last
                  ? ops::conv2d(x, test::identity(device, type, sizes[1]), {}, {})
                  : x;
  Tensor y = ops::batch_norm(in, {gamma, beta, mean, var, count}, training);
  if (relu) ops::relu_(y);
  test::backward_from(y);
  EXPECT_EQ(ops::item(count), training);
  return {y, x.grad(), gamma.grad(), beta.grad(), mean, var};
}

TEST_P(Cuda, BatchNorm) {
  for (const Shape& sizes : {Shape{4, 40, 5, 6},
                             {2, 64, 16, 16},
                             {1, 8, 65, 64},  // more rows than one block sums
                             {3, 5, 1, 1},
                             {3, 1, 4, 4}}) {
    for (const bool training : {true, false}) {
      for (const bool relu : {true, false}) {
        for (const bool last : {true, false}) {
          SCOPED_TRACE(testing::Message() << sizes.str() << " training " << training
                                          << " relu " << relu << " last " << last);
          const auto mine = batch_norm(kCuda, DType::f32, sizes, training, relu, last);
          const auto truth =
              batch_norm(kReference, DType::f64, sizes, training, relu, last);
          for (size_t i = 0; i < mine.size(); ++i) {
            // With three values per channel, their differences have few significant
            // digits.
            const double tolerance = sizes.numel() / sizes[1] < 4 ? 2e-4 : kBackward;
            EXPECT_LE(test::relative_l2(mine[i], truth[i]), tolerance)
                << "result " << i;
          }
        }
      }
    }
  }
}

TEST_P(Cuda, LinearLayers) {
  for (const auto& [batch, in, out] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 5, 2}, {4, 12, 10}, {7, 3, 5}}) {
    for (const bool relu : {false, true}) {
      for (const bool bias : {false, true}) {
        auto run = [&, batch = batch, in = in, out = out](Device device, DType type) {
          test::Layer l{test::leaf(device, test::rounded("x", {batch, in}, type)),
                        test::leaf(device, test::rounded("w", {out, in}, type)),
                        {},
                        {}};
          if (bias) l.bias = test::leaf(device, test::rounded("b", {out}, type));
          l.y = ops::linear(l.x, l.weight, l.bias);
          if (relu) ops::relu_(l.y);
          test::backward_from(l.y);
          return l;
        };
        const test::Layer mine = run(kCuda, DType::f32);
        const test::Layer truth = run(kReference, DType::f64);
        EXPECT_LE(test::relative_l2(mine.y, truth.y), kForward);
        EXPECT_LE(test::relative_l2(mine.x.grad(), truth.x.grad()), kBackward);
        EXPECT_LE(test::relative_l2(mine.weight.grad(), truth.weight.grad()),
                  kBackward);
        if (!bias) continue;
        EXPECT_LE(test::relative_l2(mine.bias.grad(), truth.bias.grad()), kBackward);
      }
    }
  }
}

TEST_P(Cuda, LossAndAccuracy) {
  constexpr int64_t kRows = 37, kClasses = 11;
  auto run = [&](Device device, DType type, ops::Reduction reduction,
                 double smoothing) {
    const Tensor x = test::leaf(device, test::rounded("x", {kRows, kClasses}, type, 3));
    const Tensor labels = test::on(device, test::golden_labels(kRows, kClasses));
    const Tensor loss = ops::cross_entropy(x, labels, reduction, smoothing);
    loss.backward();
    return Tensors{loss, x.grad(), ops::accuracy(x, labels, 1),
                   ops::accuracy(x, labels, 5)};
  };
  for (const auto reduction : {ops::Reduction::mean, ops::Reduction::sum}) {
    for (const double smoothing : {0.0, 0.1}) {
      const Tensors mine = run(kCuda, DType::f32, reduction, smoothing);
      const Tensors truth = run(kReference, DType::f64, reduction, smoothing);
      for (size_t i = 0; i < mine.size(); ++i) {
        EXPECT_LE(test::relative_l2(mine[i], truth[i]), kForward) << "result " << i;
      }
    }
  }
}

TEST_P(Cuda, NamesALabelThatIsNoClass) {
  const Tensor x = test::on(kCuda, test::rounded("x", {2, 3}, DType::f32));
  const Tensor labels = test::on(kCuda, test::vector({0, 12}, DType::i64));
  const std::string message = test::message_of(
      [&] { ops::item(ops::cross_entropy(x, labels, ops::Reduction::mean)); });
  EXPECT_NE(message.find("Target 12 is out of bounds"), std::string::npos) << message;
  // The device works again.
  EXPECT_EQ(ops::item(test::on(kCuda, Tensor::scalar(3))), 3);
}

TEST_P(Cuda, OptimizersUpdateMoreParametersThanOneLaunchHolds) {
  constexpr int kParameters = 150;
  auto run = [&](const optim::AnyOptions& options, Device device, DType type) {
    std::vector<nn::Named<Tensor>> parameters;
    for (int i = 0; i < kParameters; ++i) {
      const std::string name = fmt::format("p{}", i);
      parameters.push_back(
          {name, test::leaf(device, test::rounded(name, {1 + i % 7, 3}, type))});
    }
    const auto optimizer = optim::make_optimizer(parameters, options);
    for (int step = 0; step < 3; ++step) {
      for (auto& [name, p] : parameters) {
        p.set_grad(test::on(device, test::rounded(name + "g", p.sizes(), type)));
      }
      optimizer->step();
    }
    return parameters;
  };
  for (const optim::AnyOptions& options : std::initializer_list<optim::AnyOptions>{
           optim::SgdOptions{0.1, 0.9, 0.01}, optim::AdamOptions{.weight_decay = 0.01},
           optim::SgdOptions{.weight_decay = 0.01, .nesterov = true},
           optim::AdamOptions{.weight_decay = 0.1, .decoupled = true},
           optim::AdamOptions{.lr = 0.1, .amsgrad = true}, optim::RmspropOptions{},
           optim::RmspropOptions{.momentum = 0.9, .centered = true}}) {
    SCOPED_TRACE(options.index());
    const auto mine = run(options, kCuda, DType::f32);
    const auto truth = run(options, kReference, DType::f64);
    for (int i = 0; i < kParameters; ++i) {
      EXPECT_LE(test::relative_l2(mine[i].value, truth[i].value), kForward) << i;
    }
  }
}

TEST_P(Cuda, RotatesDims) {
  const Tensor x = test::rounded("x", {2, 3, 5}, DType::f32);
  for (const int64_t by : {1, 2}) {
    EXPECT_EQ(test::distance(ops::rotate_dims(test::on(kCuda, x), by),
                             ops::rotate_dims(x, by)),
              0);
  }
}

TEST_P(Cuda, HasNoFloat64) {
  const Tensor x = test::on(kCuda, test::rounded("x", {2, 3}, DType::f64));
  const std::string message = test::message_of([&] { ops::relu(x); });
  EXPECT_EQ(message,
            "cuda: relu does not support float64; fix: use --device-type reference");
}

INSTANTIATE_TEST_SUITE_P(Gpu, Cuda, testing::Values("Simulated", "Real"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockstep
