// Small nets for the tests of DataParallel.
#pragma once

#include "engine/models/zoo.h"
#include "engine/parallel/primitives.h"
#include "tests/engine/values.h"

namespace lockstep::test {

inline parallel::Devices devices(int n) {
  parallel::Devices all;
  for (int i = 0; i < n; ++i) all.push_back(reference(i));
  return all;
}

/// A model with float64 parameters.
template <typename Make>
auto in_double(Make make) {
  nn::Construction construction;
  construction.dtype = DType::f64;
  construction.seed = 7;
  nn::ConstructionScope scope(construction);
  auto model = make();
  model->assign_paths("");
  return model;
}

inline nn::ModulePtr make_toy() { return std::make_shared<models::Toy>(5, 2); }

inline nn::ModulePtr make_batch_norm() { return std::make_shared<nn::BatchNorm2d>(2); }

/// `flatten` as a module for Sequential.
class Flatten : public nn::Module {
 public:
  Tensor forward(const Tensor& input) override { return ops::flatten(input); }
  const char* type_name() const override { return "Flatten"; }
  nn::ModulePtr make_like() const override { return std::make_shared<Flatten>(); }
};

/// Two convolutions, a pooling and a linear layer, for N×2×8×8 images; no batch norm.
inline nn::ModulePtr make_small_net() {
  return std::make_shared<nn::Sequential>(std::vector<nn::ModulePtr>{
      std::make_shared<nn::Conv2d>(
          nn::Conv2dSettings{.in = 2, .out = 4, .kernel = 3, .padding = 1}),
      std::make_shared<nn::ReLU>(),
      std::make_shared<nn::MaxPool2d>(ops::Pool2dOptions{2, 2, 0}),
      std::make_shared<nn::Conv2d>(
          nn::Conv2dSettings{.in = 4, .out = 3, .kernel = 3, .stride = 2}),
      std::make_shared<nn::ReLU>(), std::make_shared<Flatten>(),
      std::make_shared<nn::Linear>(3, 3)});
}

/// Features and a head, as in VGG: the example wraps only the features.
class TwoParts : public nn::Module {
 public:
  TwoParts() {
    features_ = register_module(
        "features", nn::ModulePtr(std::make_shared<nn::Conv2d>(nn::Conv2dSettings{
                        .in = 2, .out = 3, .kernel = 3, .stride = 2})));
    head_ = register_module("head", std::make_shared<nn::Linear>(27, 2));
  }
  Tensor forward(const Tensor& input) override {
    return (*head_)(ops::flatten((*features_)(input)));
  }
  const char* type_name() const override { return "TwoParts"; }
  nn::ModulePtr make_like() const override { return std::make_shared<TwoParts>(); }

 private:
  nn::ModulePtr features_;
  std::shared_ptr<nn::Linear> head_;
};

}  // namespace lockstep::test
