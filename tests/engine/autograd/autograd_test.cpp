// The tape: accumulation, shared tensors, freed memory, and rejected calls.
// sanitize: address thread
#include "engine/ops/copy.h"
#include "engine/optim/sgd.h"
#include "tests/engine/values.h"

namespace lockstep {
namespace {

using Values = std::vector<double>;

Tensor leaf(const Values& values) {
  return test::leaf(test::kReference, test::vector(values));
}
Values grad_of(const Tensor& x) { return test::values_of(x.grad()); }

void backward(const Tensor& y, const Values& gradient) {
  autograd::backward(y, test::on(test::kReference, test::vector(gradient)));
}

TEST(Autograd, TwoPassesAccumulate) {
  const Tensor x = leaf({1, 2});
  backward(ops::scale(x, 3), {1, 10});
  EXPECT_EQ(grad_of(x), (Values{3, 30}));
  backward(ops::scale(x, 5), {1, 1});
  EXPECT_EQ(grad_of(x), (Values{8, 35}));
}

TEST(Autograd, NoGradLeavesNoTape) {
  const Tensor x = leaf({1, 2});
  {
    autograd::NoGrad no_grad;
    EXPECT_FALSE(autograd::grad_enabled());
    EXPECT_FALSE(ops::scale(x, 3).requires_grad());
    {
      autograd::GradMode on(true);
      EXPECT_TRUE(ops::scale(x, 3).requires_grad());
    }
    EXPECT_FALSE(autograd::grad_enabled()) << "the outer setting is restored";
  }
  EXPECT_TRUE(ops::scale(x, 3).requires_grad());
  EXPECT_FALSE(x.detach().requires_grad());
  EXPECT_EQ(x.detach().storage(), x.storage());
}

TEST(Autograd, ASecondBackwardIsRefusedInPyTorchsWords) {
  const Tensor y = ops::scale(leaf({1, 2}), 3);
  backward(y, {1, 1});
  EXPECT_EQ(test::message_of([&] { backward(y, {1, 1}); }).substr(0, 125),
            "Trying to backward through the graph a second time: the saved "
            "intermediate values have already been freed.");
}

TEST(Autograd, RefusalsInPyTorchsWords) {
  const Tensor x = test::on(test::kReference, test::vector({1, 2}));
  EXPECT_EQ(test::message_of([&] { x.backward(); }),
            "element 0 of tensors does not require grad and does not have a grad_fn");
  const Tensor y = ops::scale(leaf({1, 2}), 3);
  EXPECT_EQ(test::message_of([&] { y.backward(); }),
            "grad can be implicitly created only for scalar outputs");
  EXPECT_EQ(test::message_of([&] { backward(y, {1, 2, 3}); }),
            "Mismatch in shape: grad_output[0] has a shape of torch.Size([3]) and "
            "output[0] has a shape of torch.Size([2]).");
}

TEST(Autograd, InPlaceOnALeafIsRefusedInPyTorchsWords) {
  const std::string words =
      "a leaf Variable that requires grad is being used in an in-place operation.";
  Tensor x = leaf({-1, 2});
  const Tensor other = test::on(test::kReference, test::vector({1, 1}));
  EXPECT_EQ(test::message_of([&] { ops::relu_(x); }), words);
  EXPECT_EQ(test::message_of([&] { ops::add_(x, other); }), words);
  EXPECT_EQ(test::values_of(x), (Values{-1, 2})) << "nothing was changed";
  autograd::NoGrad no_grad;
  ops::add_(x, other);  // as an optimizer does
  EXPECT_EQ(test::values_of(x), (Values{0, 3}));
}

TEST(Autograd, AnUndefinedGradientOfALeafIsZero) {
  const Tensor x = leaf({1, 2});
  int told = 0;
  x.meta().post_accumulate_hooks.push_back([&](const Tensor&) { ++told; });
  Tensor y = ops::scale(x, 3).detach();
  autograd::set_history("Nothing", {x}, {y}, -1, [](Tensors) { return Tensors(1); });
  backward(y, {1, 1});
  EXPECT_FALSE(x.grad().defined());
  EXPECT_EQ(told, 1) << "post-accumulate hooks are called";
  backward(ops::scale(x, 3), {1, 1});
  EXPECT_EQ(grad_of(x), (Values{3, 3}));
}

TEST(Autograd, Diamond) {
  const Tensor x = leaf({1, -2});
  const Tensor a = ops::scale(x, 2);
  const Tensor left = ops::scale(a, 3), right = ops::scale(a, 5);
  backward(ops::add(left, right), {1, 1});
  EXPECT_EQ(grad_of(x), (Values{16, 16}));
}

// Three or more gradients are summed in one node. None may be lost or added to itself.
TEST(Autograd, ATensorUsedByManyOps) {
  const Tensor x = leaf({1, 1});
  Tensor sum = ops::add(x, x);
  for (int i = 0; i < 3; ++i) sum = ops::add(sum, x);
  sum = ops::add(sum, ops::scale(x, 10));
  backward(sum, {1, 2});
  EXPECT_EQ(grad_of(x), (Values{15, 30}));
}

// An addition passes one gradient tensor to both inputs. Accumulating into one input's
// gradient must not change the other's.
TEST(Autograd, SharedGradientsAreNotOverwritten) {
  const Tensor x = leaf({1}), z = leaf({1});
  const Tensor a = ops::scale(x, 2), b = ops::scale(z, 3);
  backward(ops::add(ops::add(a, b), a), {1});
  EXPECT_EQ(grad_of(x), Values{4});
  EXPECT_EQ(grad_of(z), Values{3});
}

TEST(Autograd, DeepChainsNeedNoDeepStack) {
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 20000; ++i) y = ops::scale(y, 1);
  const Tensor unused = ops::scale(y, 2);
  backward(y, {7});
  EXPECT_EQ(grad_of(x), Values{7});
}

TEST(Autograd, InPlaceHistories) {
  const Tensor x = leaf({-1, 2}), z = leaf({5, -5});
  Tensor y = ops::scale(x, 2);  // -2, 4
  ops::relu_(y);                // 0, 4
  ops::add_(y, z);              // 5, -1
  ops::relu_(y);                // 5, 0
  EXPECT_EQ(test::values_of(y), (Values{5, 0}));
}

TEST(Autograd, InPlaceGradients) {
  const Tensor x = leaf({-1, 2, 3}), z = leaf({5, -9, 1});
  Tensor y = ops::scale(x, 2);  // -2, 4, 6
  ops::add_(y, z);              // 3, -5, 7
  ops::relu_(y);                // 3, 0, 7
  backward(y, {1, 10, 100});
  EXPECT_EQ(grad_of(x), (Values{2, 0, 200}));
  EXPECT_EQ(grad_of(z), (Values{1, 0, 100}));
}

// As in a residual block: the sum is computed in place and feeds two branches.
TEST(Autograd, InPlaceSumUsedTwice) {
  const Tensor x = leaf({1, 2});
  Tensor out = ops::scale(x, 3);
  ops::add_(out, x);
  backward(ops::add(ops::scale(out, 2), out), {1, 1});
  EXPECT_EQ(grad_of(x), (Values{12, 12}));
}

TEST(Autograd, HooksSeeTheAccumulatedGradient) {
  Tensor x = leaf({1, 2});
  const Tensor z = leaf({1, 1});
  std::vector<Values> seen;
  std::string order;
  x.meta().post_accumulate_hooks.push_back([&](const Tensor& grad) {
    seen.push_back(test::values_of(grad));
    order += "a";
  });
  x.meta().post_accumulate_hooks.push_back([&](const Tensor&) { order += "b"; });
  backward(ops::add(ops::scale(x, 2), ops::add(x, z)), {1, 1});
  backward(ops::scale(x, 1), {10, 10});
  EXPECT_EQ(seen, (std::vector<Values>{{3, 3}, {13, 13}}));
  EXPECT_EQ(order, "abab") << "once per pass, in order of registration";
}

TEST(Autograd, AHooksExceptionReachesTheCaller) {
  Tensor x = leaf({1});
  x.meta().post_accumulate_hooks.push_back(
      [](const Tensor&) { throw std::runtime_error("the hook says no"); });
  EXPECT_EQ(test::message_of([&] { backward(ops::scale(x, 2), {1}); }),
            "the hook says no");
  x.meta().post_accumulate_hooks.clear();
  backward(ops::scale(x, 2), {1});  // the autograd thread is still running
}

TEST(Autograd, LaterOpsGoFirst) {
  std::string order;
  Tensors leaves;
  Tensor sum = ops::scale(leaf({0}), 1);
  for (const char* name : {"1", "2", "3"}) {
    leaves.push_back(leaf({1}));
    leaves.back().meta().post_accumulate_hooks.push_back(
        [&order, name](const Tensor&) { order += name; });
    sum = ops::add(sum, ops::scale(leaves.back(), 2));
  }
  backward(sum, {1});
  EXPECT_EQ(order, "321");
}

/// Returns a copy of `x` on `device`. In backward, the thread of `device` sends the
/// gradient back.
Tensor moved(const Tensor& x, Device device) {
  const Device home = x.device();
  Tensor y = ops::copy_to(x, device, {"peer", "x"}).detach();
  autograd::set_history("Moved", {x}, {y}, tracer::kNone, [home](Tensors grads) {
    return Tensors{ops::copy_to(grads[0], home, {"peer", "gradient"})};
  });
  return y;
}

// Each device's thread delivers to the same entry, as in PyTorch's InputBuffer::add.
TEST(Autograd, ThreadsOfSeveralDevicesAddToOneGradient) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    const Tensor x = leaf({1, 2});
    Tensor sum = ops::scale(x, 0);
    for (int device = 1; device <= 4; ++device) {
      const Tensor there = moved(x, test::reference(device));
      sum = ops::add(sum, moved(ops::scale(there, device), x.device()));
    }
    backward(sum, {1, 10});
    ASSERT_EQ(grad_of(x), (Values{10, 100})) << "repeat " << repeat;
  }
}

TEST(Autograd, UnusedLeavesHaveNoGradient) {
  const Tensor x = leaf({1}), unused = leaf({1});
  backward(ops::scale(x, 2), {1});
  EXPECT_FALSE(unused.grad().defined());
  EXPECT_TRUE(x.is_leaf());
  EXPECT_FALSE(ops::scale(x, 2).is_leaf());
}

// A discarded tape and a finished step free all their memory.
TEST(Autograd, MemoryReturnsToTheBaseline) {
  const Device device = test::reference(7);
  Tensor w = test::leaf(device, test::random("w", {20, 30}));
  const Tensor x = test::on(device, test::random("x", {10, 30}));
  const Tensor labels = test::on(device, test::golden_labels(10, 20));
  optim::Sgd sgd({{"w", w}}, {0.1, 0.9, 0});
  auto forward = [&] {
    Tensor y = ops::linear(x, w, Tensor());
    ops::relu_(y);
    return ops::cross_entropy(ops::add(y, y), labels);
  };
  auto step = [&] {
    forward().backward();
    sgd.step();
    sgd.zero_grad();
  };
  step();  // allocates the momentum buffer
  const int64_t baseline = test::live_bytes(device);
  EXPECT_EQ(baseline, (20 * 30 * 2 + 10 * 30 + 10) * 8);
  for (int i = 0; i < 3; ++i) {
    step();
    EXPECT_EQ(test::live_bytes(device), baseline) << "step " << i;
  }
  {
    const Tensor dropped = forward();
  }
  EXPECT_EQ(test::live_bytes(device), baseline) << "a tape without a backward pass";
  runtime::context(device).synchronize();
}

}  // namespace
}  // namespace lockstep
