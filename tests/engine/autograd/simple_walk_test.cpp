// The simple walk gives the same results as the engine's device threads, bit for bit.
// sanitize: thread
#include "engine/autograd/engine.h"

#include "engine/parallel/data_parallel.h"
#include "tests/engine/parallel/nets.h"
#include "tests/sanitized.h"

namespace lockstep {
namespace {

using Values = std::vector<double>;

enum class Walk { engine, simple };

/// Runs `backward` from `root` with the given walk.
void backward_by(Walk walk, const Tensor& root, const Tensor& gradient = {}) {
  if (walk == Walk::simple) autograd::tape_walk().plug(autograd::simple_walk);
  try {
    autograd::backward(root, gradient);
  } catch (...) {
    autograd::tape_walk().unplug();
    throw;
  }
  autograd::tape_walk().unplug();
}

/// The gradients of all parameters of `model` after one step.
std::vector<Values> gradients(Walk walk, nn::Module& model, const Shape& sizes) {
  model.to(test::kReference);
  const Tensor images = test::on(test::kReference, test::random("images", sizes, 1.7));
  const Tensor labels = test::on(test::kReference, test::golden_labels(sizes[0], 3));
  backward_by(walk, ops::cross_entropy(model(images), labels));
  std::vector<Values> all;
  for (const Tensor& parameter : model.parameters()) {
    all.push_back(test::values_of(parameter.grad()));
  }
  return all;
}

TEST(SimpleWalkOfNets, AResNetHasTheEnginesGradients) {
  if (kThreadSanitized) GTEST_SKIP() << "takes long; small nets have the same threads";
  const auto by = [](Walk walk) {
    const nn::ModulePtr model = test::golden_model("resnet18_cifar", DType::f64);
    return gradients(walk, *model, {1, 3, 16, 16});
  };
  const auto simple = by(Walk::simple);
  ASSERT_GT(simple.size(), 20u);
  EXPECT_EQ(simple, by(Walk::engine));
}

TEST(AutogradSimpleWalk, ConvolutionsAndPoolingHaveTheEnginesGradients) {
  const auto by = [](Walk walk) {
    const nn::ModulePtr model = test::in_double(test::make_small_net);
    return gradients(walk, *model, {4, 2, 8, 8});
  };
  EXPECT_EQ(by(Walk::simple), by(Walk::engine));
}

/// A diamond whose leaf is used on every level: five gradients are summed in `x`, three
/// in `a`.
Values diamond(Walk walk) {
  const Tensor x = test::leaf(test::kReference, test::vector({0.1, -0.7, 1.3}));
  const Tensor a = ops::scale(x, 1.0 / 3);
  const Tensor left = ops::add(ops::scale(a, 0.7), x);
  const Tensor right = ops::add(ops::scale(a, 1.1), x);
  Tensor y = ops::add(ops::add(ops::scale(left, 1.0 / 7), right), a);
  y = ops::add(ops::add(y, x), ops::scale(x, 0.3));
  const Tensor gradient = test::vector({0.3, -1.1, 0.9});
  backward_by(walk, y, test::on(test::kReference, gradient));
  return test::values_of(x.grad());
}

TEST(AutogradSimpleWalk, ADiamondWithASharedLeaf) {
  const Values simple = diamond(Walk::simple);
  EXPECT_EQ(simple, diamond(Walk::engine));
  EXPECT_NE(simple[0], 0);
}

TEST(AutogradSimpleWalk, ReplicasOfSeveralDevices) {
  const auto gradients = [](Walk walk) {
    const nn::ModulePtr model = test::in_double(test::make_small_net);
    model->to(test::reference(0));
    parallel::DataParallel dp(model, test::devices(3));
    const Tensor labels = test::on(test::reference(0), test::golden_labels(5, 3));
    backward_by(walk,
                ops::cross_entropy(dp(test::random("images", {5, 2, 8, 8})), labels));
    std::vector<Values> all;
    for (const Tensor& parameter : model->parameters()) {
      all.push_back(test::values_of(parameter.grad()));
    }
    return all;
  };
  EXPECT_EQ(gradients(Walk::simple), gradients(Walk::engine));
}

TEST(AutogradSimpleWalk, HooksRunOnceAndExceptionsReachTheCaller) {
  Tensor x = test::leaf(test::kReference, test::vector({2}));
  int calls = 0;
  x.meta().post_accumulate_hooks.push_back([&](const Tensor&) { ++calls; });
  backward_by(Walk::simple, ops::add(x, ops::scale(x, 3)));
  EXPECT_EQ(test::values_of(x.grad()), Values{4});
  EXPECT_EQ(calls, 1);
  x.meta().post_accumulate_hooks.push_back(
      [](const Tensor&) { throw std::runtime_error("the hook fails"); });
  EXPECT_EQ(test::message_of([&] { backward_by(Walk::simple, ops::scale(x, 2)); }),
            "the hook fails");
}

TEST(AutogradSimpleWalk, DeepChainsNeedNoDeepStack) {
  const Tensor x = test::leaf(test::kReference, test::vector({1}));
  Tensor y = x;
  for (int i = 0; i < 20000; ++i) y = ops::scale(y, 1);
  backward_by(Walk::simple, y);
  EXPECT_EQ(test::values_of(x.grad()), Values{1});
}

}  // namespace
}  // namespace lockstep
