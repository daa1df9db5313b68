// Every operation alone: outputs, input gradients and running statistics equal
// PyTorch's, on both backends.
#include <map>

#include "tests/engine/values.h"

namespace lockstep {
namespace {

using test::Json;

/// An input of a case, by the rules of tests/golden/README.md.
Tensor golden_input(const Json& spec, DType dtype) {
  const Shape sizes(spec["shape"].get<std::vector<int64_t>>());
  const std::string rule = spec["rule"];
  const double size = spec["size"];
  const uint64_t stream = fnv1a64(spec["stream"].get<std::string>());
  std::vector<double> values(sizes.numel());
  for (size_t i = 0; i < values.size(); ++i) {
    const double u = Philox{test::kGoldenKey}.uniform(i, stream);
    if (rule == "signed") values[i] = (2 * u - 1) * size;
    if (rule == "weight") values[i] = 1 + size * (2 * u - 1);
    if (rule == "var") values[i] = 1 + size * u;
    if (rule == "grid") values[i] = std::floor(size * u) - std::floor(size / 2);
    if (rule == "class") values[i] = std::floor(size * u);
  }
  return Tensor::from(values, sizes, rule == "class" ? DType::i64 : dtype);
}

using Inputs = std::map<std::string, Tensor>;

Tensor run(const std::string& op, const Json& args, Inputs& in) {
  const Tensor& x = in["input"];
  auto pool = [&args] {
    return ops::Pool2dOptions{args["kernel"], args["stride"], args["padding"]};
  };
  if (op == "conv2d") {
    return ops::conv2d(x, in["weight"], in["bias"], {args["stride"], args["padding"]});
  }
  if (op == "max_pool2d") return ops::max_pool2d(x, pool());
  if (op == "avg_pool2d") return ops::avg_pool2d(x, pool());
  if (op == "adaptive_avg_pool2d") {
    return ops::adaptive_avg_pool2d(x, args["output"][0], args["output"][1]);
  }
  if (op == "batch_norm") {
    const Tensor tracked = test::on(x.device(), Tensor::scalar(0, DType::i64));
    Tensor y = ops::batch_norm(
        x, {in["weight"], in["bias"], in["running_mean"], in["running_var"], tracked},
        args["training"], args["momentum"], args["eps"]);
    EXPECT_EQ(ops::item(tracked), args["training"] ? 1 : 0);
    return y;
  }
  if (op == "linear") return ops::linear(x, in["weight"], in["bias"]);
  if (op == "relu") return ops::relu(x);
  if (op == "log_softmax") return ops::log_softmax(x);
  if (op == "add") return ops::add(x, in["other"]);
  if (op == "flatten") return ops::flatten(x);
  if (op == "cross_entropy") {
    const bool mean = args["reduction"] == "mean";
    return ops::cross_entropy(x, in["target"],
                              mean ? ops::Reduction::mean : ops::Reduction::sum,
                              args["label_smoothing"]);
  }
  throw std::runtime_error("the test does not know " + op);
}

/// Compares in units of the largest value, at least 1.
void expect_values(const std::vector<double>& mine, const Json& theirs,
                   double tolerance) {
  ASSERT_EQ(mine.size(), theirs.size());
  double scale = 1;
  for (double value : theirs) scale = std::max(scale, std::abs(value));
  for (size_t i = 0; i < mine.size(); ++i) {
    EXPECT_NEAR(mine[i], theirs[i].get<double>(), tolerance * scale) << "at " << i;
  }
}

void expect_stored(const std::string& stream, const Tensor& mine, const Json& golden,
                   double tolerance) {
  SCOPED_TRACE(stream);
  ASSERT_TRUE(mine.defined());
  ASSERT_EQ(mine.sizes(), Shape(golden["shape"].get<std::vector<int64_t>>()));
  if (golden.contains("full")) {
    expect_values(test::values_of(mine), golden["full"], tolerance);
  } else {
    expect_values(test::fingerprint(stream, mine), golden["digest"], tolerance);
  }
}

void expect_case(const std::string& name, const Json& golden, Device device,
                 DType dtype, double tolerance) {
  SCOPED_TRACE(name);
  Inputs in;
  for (const auto& [key, spec] : golden["inputs"].items()) {
    in[key] = test::on(device, golden_input(spec, dtype));
  }
  for (const auto& [key, stored] : golden["gradients"].items()) {
    in[key].set_requires_grad(true);
  }
  const Tensor y = run(golden["op"], golden["args"], in);
  test::backward_from(y);
  expect_stored(name + ":output", y, golden["output"], tolerance);
  for (const auto& [key, stored] : golden["gradients"].items()) {
    expect_stored(name + ":d" + key, in[key].grad(), stored, tolerance);
  }
  if (!golden.contains("updated")) return;
  for (const auto& [key, stored] : golden["updated"].items()) {
    expect_stored(name + ":" + key, in[key], stored, tolerance);
  }
}

void expect_all(Device device, DType dtype, double tolerance) {
  const Json golden = test::read_golden("ops.json");
  int compared = 0;
  for (const auto& [name, entry] : golden["ops"].items()) {
    // Averages that leave padding out are not offered: no net here uses them.
    if (entry["args"].value("count_include_pad", true) == false) continue;
    expect_case(name, entry, device, dtype, tolerance);
    ++compared;
  }
  EXPECT_GE(compared, 45);
}

TEST(GoldenOps, ReferenceInDouble) { expect_all(test::kReference, DType::f64, 1e-12); }

TEST(GoldenOps, ReferenceInFloat) { expect_all(test::kReference, DType::f32, 1e-5); }

TEST(GoldenOps, Cpu) {
  if (!has_backend(DeviceType::cpu)) GTEST_SKIP() << "built without oneDNN";
  expect_all(test::kCpu, DType::f32, 2e-5);
}

// In-place and fused forms give what the plain ones give.
TEST(GoldenOps, ReluInPlaceEqualsRelu) {
  const Json golden = test::read_golden("ops.json")["ops"]["relu_zeros"];
  for (const Device device : {test::kReference, test::kCpu}) {
    if (!has_backend(device.type)) continue;
    const Tensor x =
        test::leaf(device, golden_input(golden["inputs"]["input"], DType::f32));
    Tensor y = ops::scale(x, 1);
    ops::relu_(y);
    test::backward_from(y);
    expect_stored("relu_zeros:output", y, golden["output"], 1e-6);
    expect_stored("relu_zeros:dinput", x.grad(), golden["gradients"]["input"], 1e-6);
  }
}

}  // namespace
}  // namespace lockstep
