// `--amp` on CPUs: products of bfloat16, sums and everything else in float32.
#include "tests/engine/values.h"

namespace lockstep {
namespace {

/// Plans made while it exists are those of `--amp`.
struct Amp {
  Amp() { set(true); }
  ~Amp() { set(false); }
  static void set(bool on) {
    backend_options().amp = on;
    backend_of(DeviceType::cpu).clear_cache();
  }
};

class CpuBfloat16 : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_backend(DeviceType::cpu) || !backend_of(DeviceType::cpu).has_bfloat16()) {
      GTEST_SKIP() << "this processor has neither AVX512-BF16 nor AMX";
    }
  }
};

/// A convolution, a batch norm and a linear layer: output, and gradients of all leaves.
std::vector<Tensor> run(Device device, DType type) {
  const auto leaf = [&](const char* name, const Shape& sizes) {
    return test::leaf(device, test::signed_tensor(name, sizes, 1, type));
  };
  const Tensor x = leaf("x", {4, 16, 8, 8}), w = leaf("w", {32, 16, 3, 3});
  const Tensor b = leaf("b", {32}), v = leaf("v", {10, 32 * 8 * 8});
  ops::Conv2dOptions options;
  options.padding = 1;
  Tensor y = ops::conv2d(x, w, b, options);
  y = ops::linear(ops::flatten(y), v, {});
  autograd::backward(y,
                     test::on(device, test::signed_tensor("dy", y.sizes(), 1, type)));
  return {y, x.grad(), w.grad(), b.grad(), v.grad()};
}

// bfloat16 has 8 bits: a product is off by up to 2^-8 of it, sums of many by less.
TEST_F(CpuBfloat16, ProductsAreRoundedAndSumsAreNot) {
  const auto truth = run(test::kReference, DType::f64);
  const auto single = run(test::kCpu, DType::f32);
  const Amp amp;
  const auto low = run(test::kCpu, DType::f32);
  for (size_t i = 0; i < truth.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_LT(test::relative_l2(single[i], truth[i]), 1e-5);
    EXPECT_GT(test::relative_l2(low[i], truth[i]), 1e-4);
    EXPECT_LT(test::relative_l2(low[i], truth[i]), 1e-2);
  }
}

// The norm of all gradients is a product, too: clipping needs it exactly.
TEST_F(CpuBfloat16, NormsStayFloat32) {
  const Amp amp;
  const Tensor row =
      test::on(test::kCpu, test::signed_tensor("row", {1, 1000}, 1, DType::f32));
  double expected = 0;
  for (const double value : test::values_of(row)) expected += value * value;
  EXPECT_NEAR(ops::item(ops::linear(row, row, {})), expected, 1e-5 * expected);
}

}  // namespace
}  // namespace lockstep
