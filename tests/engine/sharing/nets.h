// Nets on which ways of training are compared: small ones, and VGG16 for CIFAR.
#pragma once

#include "engine/models/alexnet.h"
#include "engine/models/resnet.h"
#include "tests/engine/distributed/nets.h"

namespace lockstep::test {

/// Convolutions and batch norms, both kinds of shortcut: a ResNet of two blocks.
inline nn::ModulePtr make_small_resnet() {
  return std::make_shared<nn::Sequential>(std::vector<nn::ModulePtr>{
      std::make_shared<models::BasicBlock>(2, 2, 1),
      std::make_shared<models::BasicBlock>(2, 4, 2),
      std::make_shared<nn::AdaptiveAvgPool2d>(1), std::make_shared<Flatten>(),
      std::make_shared<nn::Linear>(4, 3)});
}

/// What a VggLike is made of.
struct VggPlan {
  int64_t channels;                 ///< of the images
  std::vector<int64_t> features;    ///< channels of each convolution; 0: max pooling
  std::vector<int64_t> classifier;  ///< sizes before, between and after linear layers
  bool batch_norm = false;
  double dropout = 0;  ///< between linear layers
};

/// Features and a classifier, as in torchvision's VGG, of any size.
class VggLike : public models::FeatureModel {
 public:
  explicit VggLike(const VggPlan& plan) : plan_(plan) {
    std::vector<nn::ModulePtr> layers;
    int64_t in = plan.channels;
    for (const int64_t out : plan.features) {
      if (out == 0) {
        layers.push_back(std::make_shared<nn::MaxPool2d>(ops::Pool2dOptions{2, 2, 0}));
        continue;
      }
      layers.push_back(std::make_shared<nn::Conv2d>(
          nn::Conv2dSettings{.in = in, .out = out, .kernel = 3, .padding = 1}));
      if (plan.batch_norm) layers.push_back(std::make_shared<nn::BatchNorm2d>(out));
      layers.push_back(std::make_shared<nn::ReLU>());
      in = out;
    }
    features_ = register_module(
        "features", nn::ModulePtr(std::make_shared<nn::Sequential>(layers)));
    std::vector<nn::ModulePtr> linear;
    for (size_t i = 0; i + 1 < plan.classifier.size(); ++i) {
      if (i > 0) {
        linear.push_back(std::make_shared<nn::ReLU>());
        linear.push_back(std::make_shared<nn::Dropout>(plan.dropout));
      }
      linear.push_back(
          std::make_shared<nn::Linear>(plan.classifier[i], plan.classifier[i + 1]));
    }
    classifier_ = register_module(
        "classifier", nn::ModulePtr(std::make_shared<nn::Sequential>(linear)));
  }
  Tensor forward(const Tensor& x) override {
    return (*classifier_)(ops::flatten((*features_)(x)));
  }
  const char* type_name() const override { return "VggLike"; }
  std::vector<nn::Part> parts() const override {
    return children_as_parts("classifier");
  }
  nn::ModulePtr make_like() const override { return std::make_shared<VggLike>(plan_); }

 private:
  const VggPlan plan_;
  nn::ModulePtr classifier_;
};

/// For N×2×8×8 images.
inline nn::ModulePtr make_small_vgg(bool batch_norm, double dropout) {
  return std::make_shared<VggLike>(
      VggPlan{2, {3, 0, 4, 0}, {16, 8, 3}, batch_norm, dropout});
}

/// The features of VGG16, and the classifier that is usual for images of 32×32: 512
/// instead of 4096 units. 15 million parameters instead of 134.
inline nn::ModulePtr make_vgg16_for_cifar(double dropout) {
  return std::make_shared<VggLike>(VggPlan{
      3,
      {64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0},
      {512, 512, 512, 10},
      false,
      dropout});
}

}  // namespace lockstep::test
