// VGG-16 (Simonyan & Zisserman, 2014), with and without batch norm, matching
// torchvision's names, shapes, initialization and parameter counts.
// Source: torchvision/models/vgg.py.
#pragma once

#include "engine/models/alexnet.h"
#include "engine/runtime/slot.h"

namespace lockstep::models {

struct VggSettings {
  int64_t classes = 1000;
  bool batch_norm = false;
  double dropout = 0.5;
  /// As before torchvision 0.3: no adaptive pooling before the classifier. Inputs fail
  /// with a size mismatch unless their features are 7×7 (as for 224×224 images).
  bool legacy = false;
};

/// Converts features (N×512×H×W, any H and W) to the classifier's input (N×25088):
/// averages them to 7×7, then flattens. This is a slot (runtime/slot.h).
runtime::Slot<Tensor(const Tensor& features)>& classifier_input();

class VGG : public FeatureModel {
 public:
  explicit VGG(const VggSettings& settings);
  Tensor forward(const Tensor& x) override;
  const char* type_name() const override { return "VGG"; }
  nn::ModulePtr make_like() const override { return std::make_shared<VGG>(settings_); }
  std::vector<nn::Part> parts() const override {
    return children_as_parts("classifier");
  }

 private:
  VggSettings settings_;
  nn::ModulePtr avgpool_, classifier_;
};

}  // namespace lockstep::models
