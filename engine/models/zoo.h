// Creates models by name; also defines the two smallest ones.
#pragma once

#include <string>
#include <vector>

#include "engine/models/resnet.h"
#include "engine/nn/layers.h"

namespace lockstep::models {

struct ZooOptions {
  int64_t classes = 10;
  Stem stem = Stem::cifar;
  double dropout = 0.5;
  int64_t features = 1024;  ///< of `sparse`
};

/// `alexnet`, `resnet18`, `resnet20`, `resnet34`, `resnet50`, `resnet101`, `resnet152`,
/// `vgg16`, `vgg16_bn`, `vgg16_legacy`, `toy`, `sparse`.
const std::vector<std::string>& names();

/// Creates the model named `arch`. Throws std::invalid_argument listing the valid names
/// if there is no such model.
nn::ModulePtr make(const std::string& arch, const ZooOptions& options);

/// The model of the notebook: one `Linear(5, 2)` that can print its input/output sizes.
class Toy : public nn::Module {
 public:
  Toy(int64_t in = 5, int64_t out = 2, bool print = false);
  Tensor forward(const Tensor& input) override;
  const char* type_name() const override { return "Model"; }
  nn::ModulePtr make_like() const override {
    return std::make_shared<Toy>(in_, out_, print_);
  }

 private:
  int64_t in_, out_;
  bool print_;
  std::shared_ptr<nn::Linear> fc_;
};

/// Logistic regression on vectors, as softmax over the classes: one matrix, without a
/// bias, which every sample would touch. It begins at 0. The gradient of a coordinate
/// that is 0 in all samples of a batch is exactly 0.
class LogisticRegression : public nn::Module {
 public:
  LogisticRegression(int64_t features, int64_t classes);
  Tensor forward(const Tensor& input) override;
  const char* type_name() const override { return "LogisticRegression"; }
  nn::ModulePtr make_like() const override {
    return std::make_shared<LogisticRegression>(weight_.size(1), weight_.size(0));
  }

 private:
  Tensor weight_;
};

}  // namespace lockstep::models
