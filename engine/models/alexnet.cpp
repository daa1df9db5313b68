#include "engine/models/alexnet.h"

namespace lockstep::models {
namespace {

/// A convolution with PyTorch's default initial values, which torchvision keeps for
/// AlexNet.
nn::ModulePtr default_conv(nn::Conv2dSettings settings) {
  settings.init =
      nn::Init::default_uniform(settings.in * settings.kernel * settings.kernel);
  return std::make_shared<nn::Conv2d>(settings);
}

nn::ModulePtr make_alexnet_features() {
  const auto relu = [] { return std::make_shared<nn::ReLU>(); };
  const auto pool = [] {
    return std::make_shared<nn::MaxPool2d>(ops::Pool2dOptions{3, 2, 0});
  };
  return std::make_shared<nn::Sequential>(std::vector<nn::ModulePtr>{
      default_conv({.in = 3, .out = 64, .kernel = 11, .stride = 4, .padding = 2}),
      relu(), pool(),  //
      default_conv({.in = 64, .out = 192, .kernel = 5, .padding = 2}), relu(),
      pool(),  //
      default_conv({.in = 192, .out = 384, .kernel = 3, .padding = 1}), relu(),
      default_conv({.in = 384, .out = 256, .kernel = 3, .padding = 1}), relu(),
      default_conv({.in = 256, .out = 256, .kernel = 3, .padding = 1}), relu(),
      pool()});
}

nn::ModulePtr make_alexnet_classifier(int64_t classes, double dropout) {
  return std::make_shared<nn::Sequential>(std::vector<nn::ModulePtr>{
      std::make_shared<nn::Dropout>(dropout),
      std::make_shared<nn::Linear>(256 * 6 * 6, 4096), std::make_shared<nn::ReLU>(),
      std::make_shared<nn::Dropout>(dropout), std::make_shared<nn::Linear>(4096, 4096),
      std::make_shared<nn::ReLU>(), std::make_shared<nn::Linear>(4096, classes)});
}

}  // namespace

void FeatureModel::set_features(nn::ModulePtr features) {
  replace_child("features", features);
  features_ = std::move(features);
}

AlexNet::AlexNet(const AlexNetSettings& settings) : settings_(settings) {
  features_ = register_module("features", make_alexnet_features());
  avgpool_ = register_module("avgpool", std::make_shared<nn::AdaptiveAvgPool2d>(6));
  classifier_ = register_module(
      "classifier", make_alexnet_classifier(settings.classes, settings.dropout));
}

Tensor AlexNet::forward(const Tensor& input) {
  Tensor x = (*features_)(input);
  x = (*avgpool_)(x);
  x = ops::flatten(x);
  return (*classifier_)(x);
}

}  // namespace lockstep::models
