// Blocks that are run again in the backward pass compute what they compute without.
#include "engine/nn/recompute.h"

#include "engine/autograd/engine.h"
#include "engine/models/resnet.h"
#include "tests/engine/values.h"

namespace lockstep {
namespace {

struct Net {
  explicit Net(Device device, DType type, bool recompute) {
    nn::Construction construction;
    construction.dtype = type;
    const nn::ConstructionScope scope(construction);
    model = std::make_shared<models::ResNet>(models::ResNetSettings{
        .blocks = {2, 1}, .classes = 3, .stem = models::Stem::cifar, .width = 4});
    model->to(device);
    model->assign_paths("");
    if (recompute) EXPECT_EQ(nn::recompute_blocks(*model), 3);
    for (auto& [name, parameter] : model->named_parameters()) {
      parameter.meta().post_accumulate_hooks.push_back(
          [this, name = name](const Tensor&) { completed.push_back(name); });
    }
    images = test::on(device, test::signed_tensor("images", {4, 3, 8, 8}, 1, type));
    labels = test::on(device, test::golden_labels(4, 3));
  }
  double loss() {
    const Tensor loss = ops::cross_entropy((*model)(images), labels);
    loss.backward();
    return ops::item(loss);
  }
  std::vector<double> gradients() const {
    std::vector<double> all;
    for (const Tensor& p : model->parameters()) {
      for (const double value : test::values_of(p.grad())) all.push_back(value);
    }
    return all;
  }

  nn::ModulePtr model;
  Tensor images, labels;
  std::vector<std::string> completed;
};

TEST(Recompute, GradientsAreBitwiseTheSame) {
  for (const auto& [device, type] :
       {std::pair{test::kReference, DType::f64}, {test::kCpu, DType::f32}}) {
    if (!has_backend(device.type)) continue;
    SCOPED_TRACE(static_cast<int>(device.type));
    Net kept(device, type, false), again(device, type, true);
    for (int step = 0; step < 2; ++step) {  // the second one accumulates
      EXPECT_EQ(again.loss(), kept.loss());
      EXPECT_EQ(again.gradients(), kept.gradients());
    }
    // Buckets are rebuilt in this order.
    EXPECT_EQ(again.completed, kept.completed);
  }
}

// As in PyTorch: the statistics of the batch are added in both passes.
TEST(Recompute, BatchNormsSeeTheBatchTwice) {
  Net kept(test::kReference, DType::f64, false),
      again(test::kReference, DType::f64, true);
  again.loss();
  kept.loss();
  const auto buffer = [](const Net& net, const std::string& wanted) {
    for (const auto& [name, value] : net.model->named_buffers()) {
      if (name == wanted) return test::values_of(value);
    }
    return std::vector<double>();
  };
  EXPECT_EQ(buffer(again, "bn1.running_mean"), buffer(kept, "bn1.running_mean"));
  EXPECT_EQ(buffer(again, "layer1.0.bn1.num_batches_tracked")[0], 2);
  EXPECT_EQ(buffer(kept, "layer1.0.bn1.num_batches_tracked")[0], 1);
  const double once = buffer(kept, "layer1.0.bn1.running_mean")[0];
  EXPECT_NEAR(buffer(again, "layer1.0.bn1.running_mean")[0], once + 0.9 * once, 1e-15);
}

/// A block that is only a dropout: its gradient is its mask.
class DropoutBlock : public nn::Module {
 public:
  Tensor forward(const Tensor& x) override { return ops::dropout(x, 0.5, training()); }
  const char* type_name() const override { return "DropoutBlock"; }
  nn::ModulePtr make_like() const override { return std::make_shared<DropoutBlock>(); }
  bool is_block() const override { return true; }
};

TEST(Recompute, DropoutDrawsTheSameMask) {
  nn::Sequential net(
      {std::make_shared<DropoutBlock>(), std::make_shared<DropoutBlock>()});
  EXPECT_EQ(nn::recompute_blocks(net), 2);
  const Tensor ones = test::vector(std::vector<double>(64, 1));
  const Tensor x = test::leaf(test::kReference, ones);
  const uint64_t before = ops::dropout_calls(test::kReference);
  const Tensor y = net(x);
  EXPECT_EQ(ops::dropout_calls(test::kReference), before + 2);
  autograd::backward(y, test::on(test::kReference, ones));
  EXPECT_EQ(test::values_of(x.grad()), test::values_of(y));
  EXPECT_EQ(ops::dropout_calls(test::kReference), before + 2);
}

TEST(Recompute, WithoutGradientsNothingIsSaved) {
  Net net(test::kReference, DType::f64, true);
  const autograd::NoGrad no_tape;
  EXPECT_EQ(autograd::gradient_edge((*net.model)(net.images)).node, nullptr);
}

TEST(WalkTo, EndsWhereItIsTold) {
  const Tensor x = test::leaf(test::kReference, test::vector({2}));
  const Tensor middle = ops::scale(x, 3);
  const Tensor y = ops::add(ops::scale(middle, 5), x);
  const Tensor seed = test::on(test::kReference, test::vector({1}));
  const std::vector<autograd::Edge> ends{
      autograd::gradient_edge(middle), autograd::gradient_edge(x),
      autograd::gradient_edge(test::leaf(test::kReference, test::vector({1})))};
  const Tensors arrived = autograd::walk_to(ends, autograd::gradient_edge(y), seed);
  EXPECT_EQ(test::values_of(arrived[0])[0], 5);
  EXPECT_EQ(test::values_of(arrived[1])[0], 1);  // not 16: it did not pass `middle`
  EXPECT_FALSE(arrived[2].defined());
  EXPECT_FALSE(x.grad().defined());
}

}  // namespace
}  // namespace lockstep
