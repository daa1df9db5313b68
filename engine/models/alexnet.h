// AlexNet (Krizhevsky et al., 2012; this variant: Krizhevsky, One weird trick for
// parallelizing convolutional neural networks, 2014), matching torchvision's names,
// shapes, initialization and parameter count. Source: torchvision/models/alexnet.py.
#pragma once

#include "engine/nn/layers.h"

namespace lockstep::models {

/// A model of convolutional `features` and a fully connected classifier. The ImageNet
/// example wraps only the features in DataParallel: they have few of the parameters and
/// most of the computation.
class FeatureModel : public nn::Module {
 public:
  const nn::ModulePtr& features() const { return features_; }
  /// Replaces the features with a wrapper: `model.features = DataParallel(features)`.
  void set_features(nn::ModulePtr features);

 protected:
  nn::ModulePtr features_;
};

struct AlexNetSettings {
  int64_t classes = 1000;
  double dropout = 0.5;
};

class AlexNet : public FeatureModel {
 public:
  /// The side of the smallest images of which the three max poolings leave a pixel.
  static constexpr int64_t kSmallestImage = 63;

  explicit AlexNet(const AlexNetSettings& settings);
  Tensor forward(const Tensor& x) override;
  const char* type_name() const override { return "AlexNet"; }
  nn::ModulePtr make_like() const override {
    return std::make_shared<AlexNet>(settings_);
  }
  std::vector<nn::Part> parts() const override {
    return children_as_parts("classifier");
  }

 private:
  AlexNetSettings settings_;
  nn::ModulePtr avgpool_, classifier_;
};

}  // namespace lockstep::models
