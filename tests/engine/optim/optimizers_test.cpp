// SGD, Adam, AdamW and RMSprop against PyTorch's float64, and what all optimizers
// share.
#include "engine/optim/adaptive.h"

#include "tests/engine/values.h"

namespace lockstep {
namespace {

using optim::AdamOptions;
using optim::RmspropOptions;
using optim::SgdOptions;
using test::Json;

optim::AnyOptions options_of(const std::string& name, const Json& o) {
  if (name.starts_with("sgd")) {
    return SgdOptions{o["lr"], o["momentum"], o["weight_decay"], o["nesterov"]};
  }
  if (name.starts_with("adam")) {
    const bool decoupled = name.starts_with("adamw");
    // Those that are off: foreach, maximize, capturable, …
    EXPECT_EQ(o.size(), decoupled ? 8u : 10u);
    return AdamOptions{o["lr"],           o["betas"][0], o["betas"][1], o["eps"],
                       o["weight_decay"], o["amsgrad"],  decoupled};
  }
  return RmspropOptions{o["lr"],           o["alpha"],    o["eps"],
                        o["weight_decay"], o["momentum"], o["centered"]};
}

struct Toy {
  Toy(Device device, DType type) : model(test::golden_model("toy", type)) {
    model->to(device);
    images = test::on(device, test::signed_tensor("images", {4, 5}, 1.7, type));
    labels = test::on(device, test::golden_labels(4, 2));
  }
  double step(optim::Optimizer& optimizer) {
    const Tensor loss = ops::cross_entropy((*model)(images), labels);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    return ops::item(loss);
  }
  std::vector<double> values() const {
    std::vector<double> all;
    for (const Tensor& p : model->parameters()) {
      for (const double value : test::values_of(p)) all.push_back(value);
    }
    return all;
  }

  nn::ModulePtr model;
  Tensor images, labels;
};

TEST(Optimizers, TenStepsEqualPyTorchsInDouble) {
  const Json golden = test::read_golden("optimizers.json");
  EXPECT_EQ(golden["cases"].size(), 14u);
  for (const auto& [name, expected] : golden["cases"].items()) {
    SCOPED_TRACE(name);
    const optim::AnyOptions options = options_of(name, expected["options"]);
    // Float32 is as close as Adam allows: it divides by roots of small numbers.
    for (const auto& [device, type, tolerance] :
         {std::tuple{test::kReference, DType::f64, 1e-9},
          {test::kCpu, DType::f32, 2e-4}}) {
      if (!has_backend(device.type)) continue;
      Toy toy(device, type);
      const auto optimizer =
          optim::make_optimizer(toy.model->named_parameters(), options);
      for (const double loss : expected["losses"]) {
        EXPECT_NEAR(toy.step(*optimizer), loss, tolerance * std::max(1.0, loss));
      }
      size_t i = 0;
      const std::vector<double> mine = toy.values();
      for (const auto& [parameter, values] : toy.model->named_parameters()) {
        for (const double value : expected["parameters"][parameter]) {
          EXPECT_NEAR(mine[i++], value, tolerance * std::max(1.0, std::abs(value)));
        }
      }
    }
  }
}

TEST(Optimizers, TheDefaultsArePyTorchs) {
  const Json cases = test::read_golden("optimizers.json")["cases"];
  const Json& adam = cases["adam"]["options"];
  const AdamOptions a;
  EXPECT_EQ(a.lr, adam["lr"]);
  EXPECT_EQ(a.beta1, adam["betas"][0]);
  EXPECT_EQ(a.beta2, adam["betas"][1]);
  EXPECT_EQ(a.eps, adam["eps"]);
  EXPECT_EQ(a.weight_decay, adam["weight_decay"]);
  EXPECT_EQ(a.amsgrad, adam["amsgrad"]);
  EXPECT_EQ(optim::kAdamWDecay, cases["adamw"]["options"]["weight_decay"]);
  const Json& rmsprop = cases["rmsprop"]["options"];
  const RmspropOptions r;
  EXPECT_EQ(r.lr, rmsprop["lr"]);
  EXPECT_EQ(r.alpha, rmsprop["alpha"]);
  EXPECT_EQ(r.eps, rmsprop["eps"]);
  EXPECT_EQ(r.weight_decay, rmsprop["weight_decay"]);
  EXPECT_EQ(r.momentum, rmsprop["momentum"]);
  EXPECT_EQ(r.centered, rmsprop["centered"]);
}

const optim::AnyOptions kAll[] = {
    SgdOptions{.nesterov = true}, AdamOptions{.lr = 0.1, .amsgrad = true},
    AdamOptions{.lr = 0.1, .weight_decay = 0.1, .decoupled = true},
    RmspropOptions{.lr = 0.1, .momentum = 0.9, .centered = true}};

TEST(Optimizers, ContinueExactlyFromTheirState) {
  for (const optim::AnyOptions& options : kAll) {
    SCOPED_TRACE(options.index());
    Toy whole(test::kReference, DType::f64), parts(test::kReference, DType::f64);
    const auto first = optim::make_optimizer(whole.model->named_parameters(), options);
    const auto second = optim::make_optimizer(parts.model->named_parameters(), options);
    for (int i = 0; i < 3; ++i) {
      whole.step(*first);
      parts.step(*second);
    }
    const auto resumed =
        optim::make_optimizer(parts.model->named_parameters(), options);
    EXPECT_TRUE(resumed->state().empty());
    resumed->set_state(second->state());
    EXPECT_EQ(resumed->state().size(), 2 * resumed->state_names().size());
    for (int i = 0; i < 3; ++i) {
      whole.step(*first);
      parts.step(*resumed);
    }
    EXPECT_EQ(parts.values(), whole.values());
  }
}

// A parameter's own number of updates decides about Adam's correction of its averages:
// the first update has the size lr, whenever it comes.
TEST(Optimizers, AParameterWithoutAGradientIsNotUpdated) {
  const Tensor early = test::leaf(test::kReference, test::vector({1}));
  const Tensor late = test::leaf(test::kReference, test::vector({1}));
  optim::Adam adam({{"early", early}, {"late", late}}, {.lr = 0.1});
  const Tensor grad = test::on(test::kReference, test::vector({0.5}));
  for (int i = 0; i < 3; ++i) {
    early.set_grad(grad);
    if (i == 2) late.set_grad(grad);
    EXPECT_EQ(test::values_of(late)[0], 1);
    adam.step();
  }
  EXPECT_NEAR(test::values_of(early)[0], 0.7, 1e-6);
  EXPECT_NEAR(test::values_of(late)[0], 0.9, 1e-6);
  const auto state = adam.state();
  EXPECT_EQ(state[2].name, "step.early");
  EXPECT_EQ(ops::item(state[2].value), 3);
  EXPECT_EQ(ops::item(state[5].value), 1);
}

}  // namespace
}  // namespace lockstep
