// Module: hooks, modes, moving, paths; and shape errors with PyTorch's messages.
#include "engine/nn/layers.h"

#include "tests/engine/parallel/nets.h"

namespace lockstep {
namespace {

TEST(Module, HooksRunAroundForward) {
  std::string order;
  class Noisy : public nn::Module {
   public:
    explicit Noisy(std::string& order) : order_(order) {}
    Tensor forward(const Tensor& x) override {
      order_ += "forward ";
      return ops::scale(x, 2);
    }
    const char* type_name() const override { return "Noisy"; }
    nn::ModulePtr make_like() const override { return std::make_shared<Noisy>(order_); }
    std::string& order_;
  } noisy(order);
  noisy.register_forward_hook([&](nn::Module&, const Tensor& in, const Tensor& out) {
    order += "after";
    EXPECT_EQ(ops::item(in), 1);
    EXPECT_EQ(ops::item(out), 2);
    return Tensor();
  });
  noisy.register_forward_pre_hook([&](nn::Module& m, const Tensor& in) {
    order += "before ";
    EXPECT_EQ(&m, &noisy);
    EXPECT_EQ(ops::item(in), 1);
    return Tensor();
  });
  noisy.register_forward_pre_hook([&](nn::Module&, const Tensor&) {
    order += "second ";
    return Tensor();
  });
  noisy(test::on(test::kReference, test::vector({1})));
  EXPECT_EQ(order, "before second forward after");
}

/// What PyTorch documents: a hook's result, unless it is None, replaces the input or
/// the output, and later hooks see the replacement.
TEST(Module, HooksReplaceInputAndOutput) {
  class Double : public nn::Module {
   public:
    Tensor forward(const Tensor& x) override { return ops::scale(x, 2); }
    const char* type_name() const override { return "Double"; }
    nn::ModulePtr make_like() const override { return std::make_shared<Double>(); }
  } twice;
  std::vector<double> seen;
  const auto times_ten = [&](nn::Module&, const Tensor& in) {
    seen.push_back(ops::item(in));
    return ops::scale(in, 10);
  };
  twice.register_forward_pre_hook(times_ten);
  twice.register_forward_pre_hook(times_ten);
  twice.register_forward_hook([&](nn::Module&, const Tensor& in, const Tensor& out) {
    seen.push_back(ops::item(in));
    return ops::scale(out, 0.5);
  });
  twice.register_forward_hook([&](nn::Module&, const Tensor&, const Tensor& out) {
    seen.push_back(ops::item(out));
    return Tensor();
  });
  const Tensor y = twice(test::on(test::kReference, test::vector({3})));
  EXPECT_EQ(seen, (std::vector<double>{3, 30, 300, 300}));
  EXPECT_EQ(ops::item(y), 300) << "3 · 10 · 10 · 2 / 2";
}

TEST(Module, MovesItselfWhileATensorsCopyIsACopy) {
  nn::Linear layer(3, 2);
  const Tensor weight = layer.parameters()[0];
  const std::vector<double> before = test::values_of(weight);
  EXPECT_TRUE(weight.device().is_host());
  EXPECT_EQ(&layer.to(test::reference(1)), &layer);
  EXPECT_EQ(weight.device(), test::reference(1)) << "the same handle is moved";
  EXPECT_TRUE(weight.requires_grad() && weight.is_leaf());
  EXPECT_EQ(test::values_of(weight), before);

  const Tensor copy = ops::copy_to(weight, test::reference(0), {"h2d"});
  EXPECT_EQ(weight.device(), test::reference(1));
  EXPECT_EQ(copy.device(), test::reference(0));
}

TEST(Module, MovesBuffersAndCountsThem) {
  runtime::Allocator& memory = runtime::context(test::reference(4)).allocator();
  nn::BatchNorm2d layer(8);
  layer.to(test::reference(4));
  for (const Tensor& buffer : layer.buffers()) {
    EXPECT_EQ(buffer.device(), test::reference(4));
  }
  EXPECT_EQ(memory.live_bytes(MemoryCategory::parameters), 2 * 8 * 4);
  EXPECT_EQ(memory.live_bytes(MemoryCategory::buffers), 2 * 8 * 4 + 8);
}

TEST(Module, TrainAndEvalReachEveryChild) {
  const auto inner = std::make_shared<nn::Dropout>(0.5);
  nn::Sequential net({std::make_shared<nn::Sequential>(
      std::vector<nn::ModulePtr>{inner, std::make_shared<nn::ReLU>()})});
  EXPECT_TRUE(net.training() && inner->training()) << "the default";
  const Tensor x = test::on(test::kReference, test::random("x", {100}, 0.5, 1));
  EXPECT_GT(test::distance(net(ops::scale(x, 1)), x), 0.4);
  net.eval();
  EXPECT_FALSE(net.training() || inner->training());
  EXPECT_EQ(test::distance(net(ops::scale(x, 1)), x), 0);
  net.train();
  EXPECT_TRUE(net.training() && inner->training());
}

TEST(Module, ReplicasTakeOverModeAndHooks) {
  const nn::ModulePtr net = test::in_double(test::make_small_net);
  net->to(test::reference(0));
  net->eval();
  int calls = 0;
  net->children()[0].value->register_forward_hook(
      [&calls](nn::Module&, const Tensor&, const Tensor&) {
        ++calls;
        return Tensor();
      });
  for (const nn::ModulePtr& replica : parallel::replicate(*net, test::devices(2))) {
    EXPECT_FALSE(replica->children()[6].value->training());
    EXPECT_STREQ(replica->children()[6].value->path(), "6");
    const Device device = replica->parameters()[0].device();
    (*replica)(test::on(device, test::random("images", {1, 2, 8, 8})));
  }
  EXPECT_EQ(calls, 2);
}

TEST(Module, PathsAndNames) {
  const nn::ModulePtr net =
      test::in_double([] { return std::make_shared<test::TwoParts>(); });
  EXPECT_STREQ(net->path(), "");
  EXPECT_STREQ(net->children()[1].value->path(), "head");
  const auto parameters = net->named_parameters();
  ASSERT_EQ(parameters.size(), 4u);
  EXPECT_EQ(parameters[0].name, "features.weight");
  EXPECT_EQ(parameters[3].name, "head.bias");
  EXPECT_EQ(parameters[3].value.meta().name, "head.bias");
}

/// The error message of an operation on zeros of the given shapes.
std::string error(const std::function<Tensor(const Tensors&)>& op,
                  const std::vector<Shape>& shapes) {
  Tensors inputs;
  for (const Shape& shape : shapes) {
    inputs.push_back(Tensor::empty(shape, Device{DeviceType::null, 0}));
  }
  return test::message_of([&] { op(inputs); });
}

TEST(ShapeErrors, ConvolutionInPyTorchsWords) {
  auto conv = [](const Tensors& in) { return ops::conv2d(in[0], in[1], {}, {1, 0}); };
  EXPECT_EQ(
      error(conv, {{1, 4, 32, 32}, {64, 3, 3, 3}}),
      "Given groups=1, weight of size [64, 3, 3, 3], expected input[1, 4, 32, 32] "
      "to have 3 channels, but got 4 channels instead");
  EXPECT_EQ(error(conv, {{1, 3, 2, 5}, {64, 3, 3, 3}}),
            "Calculated padded input size per channel: (2 x 5). Kernel size: (3 x 3). "
            "Kernel size can't be greater than actual input size");
  EXPECT_EQ(error(conv, {{3, 5}, {64, 3, 3, 3}}),
            "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of "
            "size: [3, 5]");
}

TEST(ShapeErrors, OthersInPyTorchsWords) {
  EXPECT_EQ(
      error([](const Tensors& in) { return ops::linear(in[0], in[1], {}); },
            {{3, 512}, {4096, 25088}}),
      "mat1 and mat2 shapes cannot be multiplied (3x512 and 25088x4096); in older "
      "PyTorch: size mismatch, m1: [3 x 512], m2: [25088 x 4096]");
  EXPECT_EQ(
      error([](const Tensors& in) { return ops::max_pool2d(in[0], {2, 2, 0}); },
            {{1, 3, 1, 1}}),
      "Given input size: (3x1x1). Calculated output size: (3x0x0). Output size is "
      "too small");
  EXPECT_EQ(error([](const Tensors& in) { return ops::cross_entropy(in[0], in[1]); },
                  {{4, 10}, {3}}),
            "Expected input batch_size (4) to match target batch_size (3).");
  auto norm = [](const Tensors& in) {
    return ops::batch_norm(in[0], {in[1], in[1], in[1], in[1], {}}, true);
  };
  EXPECT_EQ(error(norm, {{1, 3, 1, 1}, {3}}),
            "Expected more than 1 value per channel when training, got input size "
            "torch.Size([1, 3, 1, 1])");
  EXPECT_EQ(error(norm, {{2, 4, 5, 5}, {3}}),
            "running_mean should contain 4 elements not 3");
  EXPECT_EQ(error(norm, {{2, 3, 5}, {3}}), "expected 4D input (got 3D input)");
  EXPECT_EQ(
      error([](const Tensors& in) { return ops::dropout(in[0], 1.5, true); }, {{3}}),
      "dropout probability has to be in [0, 1), but got 1.5");
}

}  // namespace
}  // namespace lockstep
