// Every gradient formula against central differences in double, independent of PyTorch.
#include "tests/engine/values.h"

namespace lockstep {
namespace {

constexpr double kSlopeTolerance = 1e-6;  // relative; central differences reach 1e-9
constexpr double kStep = 1e-5;

using Function = std::function<Tensor(const Tensors&)>;

/// The scalar Σ y · w, with random weights w, so that every element contributes.
double weighted_sum(const Tensor& y) {
  const std::vector<double> values = test::values_of(y);
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    sum += values[i] * test::signed_uniform(i, fnv1a64("grad"));
  }
  return sum;
}

/// Compares d(Σ y w)/dx for every element x of every input.
void expect_gradients(const Function& f, const Tensors& host_inputs) {
  Tensors leaves;
  for (const Tensor& x : host_inputs) leaves.push_back(test::leaf(test::kReference, x));
  const Tensor y = f(leaves);
  test::backward_from(y);

  for (size_t k = 0; k < host_inputs.size(); ++k) {
    SCOPED_TRACE("input " + std::to_string(k));
    const std::vector<double> x = test::values_of(host_inputs[k]);
    const std::vector<double> mine = test::values_of(leaves[k].grad());
    double scale = 0;
    for (double g : mine) scale = std::max(scale, std::abs(g));
    ASSERT_GT(scale, 0);
    auto at = [&](size_t i, double step) {
      std::vector<double> moved = x;
      moved[i] += step;
      Tensors inputs;
      for (const Tensor& input : host_inputs) {
        inputs.push_back(test::on(test::kReference, input));
      }
      inputs[k] = test::on(test::kReference,
                           Tensor::from(moved, host_inputs[k].sizes(), DType::f64));
      return weighted_sum(f(inputs));
    };
    for (size_t i = 0; i < x.size(); ++i) {
      const double slope = (at(i, kStep) - at(i, -kStep)) / (2 * kStep);
      EXPECT_NEAR(mine[i], slope, kSlopeTolerance * scale) << "element " << i;
    }
  }
}

Tensor away_from_zero(const std::string& stream, const Shape& sizes) {
  std::vector<double> values = test::values_of(test::random(stream, sizes));
  for (double& v : values) v += v < 0 ? -0.1 : 0.1;
  return Tensor::from(values, sizes, DType::f64);
}

Tensor labels() {
  return test::on(test::kReference, Tensor::from({1, 0, 4}, {3}, DType::i64));
}

void expect_convolution(int64_t kernel, int64_t stride, int64_t padding, bool bias) {
  SCOPED_TRACE(testing::Message() << kernel << "x" << kernel << " s" << stride << " p"
                                  << padding << (bias ? " bias" : ""));
  Tensors inputs{test::random("x", {2, 2, 5, 6}),
                 test::random("w", {3, 2, kernel, kernel})};
  if (bias) inputs.push_back(test::random("b", {3}));
  expect_gradients(
      [=](const Tensors& in) {
        return ops::conv2d(in[0], in[1], bias ? in[2] : Tensor(), {stride, padding});
      },
      inputs);
}

TEST(FiniteDifferences, Conv2d) {
  expect_convolution(3, 1, 1, false);
  expect_convolution(3, 2, 1, true);
  expect_convolution(1, 2, 0, false);
  expect_convolution(2, 1, 0, true);
  expect_convolution(5, 3, 2, true);
}

TEST(FiniteDifferences, Linear) {
  expect_gradients(
      [](const Tensors& in) { return ops::linear(in[0], in[1], in[2]); },
      {test::random("x", {3, 4}), test::random("w", {2, 4}), test::random("b", {2})});
  expect_gradients(
      [](const Tensors& in) { return ops::linear(in[0], in[1], Tensor()); },
      {test::random("x", {3, 4}), test::random("w", {2, 4})});
}

void expect_batch_norm(bool training) {
  expect_gradients(
      [training](const Tensors& in) {
        const Tensor mean = test::on(test::kReference, test::random("mean", {3}));
        const Tensor var = test::on(test::kReference, test::random("var", {3}, 0.5, 1));
        const Tensor count = test::on(test::kReference, Tensor::scalar(0, DType::i64));
        return ops::batch_norm(in[0], {in[1], in[2], mean, var, count}, training);
      },
      {test::random("x", {2, 3, 3, 2}), test::random("w", {3}, 0.2, 1),
       test::random("b", {3})});
}
TEST(FiniteDifferences, BatchNormInTraining) { expect_batch_norm(true); }
TEST(FiniteDifferences, BatchNormInEvaluation) { expect_batch_norm(false); }

TEST(FiniteDifferences, Relu) {
  const Tensor x = away_from_zero("x", {3, 5});
  expect_gradients([](const Tensors& in) { return ops::relu(in[0]); }, {x});
  expect_gradients(
      [](const Tensors& in) {
        Tensor y = ops::scale(in[0], 1.5);
        return ops::relu_(y);
      },
      {x});
}

TEST(FiniteDifferences, Pools) {
  const Tensor x = test::random("x", {2, 2, 5, 6});
  expect_gradients([](const Tensors& in) { return ops::max_pool2d(in[0], {2, 2, 0}); },
                   {x});
  expect_gradients([](const Tensors& in) { return ops::max_pool2d(in[0], {3, 2, 1}); },
                   {x});
  expect_gradients([](const Tensors& in) { return ops::avg_pool2d(in[0], {3, 2, 1}); },
                   {x});
  for (const auto& [height, width] : {std::pair{1, 1}, {2, 3}, {7, 7}}) {
    expect_gradients(
        [h = height, w = width](const Tensors& in) {
          return ops::adaptive_avg_pool2d(in[0], h, w);
        },
        {x});
  }
}

TEST(FiniteDifferences, AdditionAndScaling) {
  const Tensors two{test::random("a", {2, 3}), test::random("b", {2, 3})};
  expect_gradients([](const Tensors& in) { return ops::add(in[0], in[1]); }, two);
  expect_gradients([](const Tensors& in) { return ops::add(in[0], in[0]); }, {two[0]});
  expect_gradients(
      [](const Tensors& in) {
        Tensor a = ops::scale(in[0], -0.5);
        return ops::add_(a, in[1]);
      },
      two);
  expect_gradients([](const Tensors& in) { return ops::scale(in[0], -2.5); }, {two[0]});
}

TEST(FiniteDifferences, Flatten) {
  expect_gradients([](const Tensors& in) { return ops::flatten(in[0]); },
                   {test::random("x", {2, 2, 3, 1})});
}

TEST(FiniteDifferences, Losses) {
  const Tensor x = test::random("x", {3, 5}, 2);
  expect_gradients([](const Tensors& in) { return ops::log_softmax(in[0]); }, {x});
  for (const auto reduction : {ops::Reduction::mean, ops::Reduction::sum}) {
    expect_gradients(
        [=](const Tensors& in) { return ops::nll_loss(in[0], labels(), reduction); },
        {x});
    expect_gradients(
        [=](const Tensors& in) {
          return ops::cross_entropy(in[0], labels(), reduction);
        },
        {x});
  }
}

// Dropout is linear for a fixed mask, so its gradient is the mask.
TEST(FiniteDifferences, DropoutByItsMask) {
  constexpr double kP = 0.3;
  ops::manual_seed(5);
  const Tensor x = test::leaf(test::kReference, away_from_zero("x", {40, 50}));
  const Tensor y = ops::dropout(x, kP, true);
  test::backward_from(y);
  const auto xs = test::values_of(x), ys = test::values_of(y),
             dx = test::values_of(x.grad());
  int kept = 0;
  for (size_t i = 0; i < xs.size(); ++i) {
    const double mask = ys[i] != 0 ? 1 / (1 - kP) : 0;
    kept += ys[i] != 0;
    EXPECT_NEAR(ys[i], xs[i] * mask, 1e-15 * 2);
    EXPECT_NEAR(dx[i], test::signed_uniform(i, fnv1a64("grad")) * mask, 1e-15 * 2);
  }
  EXPECT_NEAR(kept / 2000.0, 1 - kP, 0.05);  // 4.9 standard deviations
}

TEST(Dropout, DrawsAnewAndBySeed) {
  const Tensor x = test::on(
      test::kReference, Tensor::from(std::vector<double>(1000, 1), {1000}, DType::f64));
  auto draw = [&x](uint64_t seed) {
    ops::manual_seed(seed);
    return test::values_of(ops::dropout(x, 0.5, true));
  };
  const auto first = draw(1);
  EXPECT_EQ(draw(1), first);
  EXPECT_NE(draw(2), first) << "small seeds must differ";
  EXPECT_NE(draw(uint64_t{1} << 60), first);
  ops::manual_seed(1);
  ops::dropout(x, 0.5, true);
  EXPECT_NE(test::values_of(ops::dropout(x, 0.5, true)), first) << "the second call";
  EXPECT_TRUE(ops::dropout(x, 0.5, false).is(x)) << "evaluation";
  EXPECT_TRUE(ops::dropout(x, 0, true).is(x));
}

}  // namespace
}  // namespace lockstep
