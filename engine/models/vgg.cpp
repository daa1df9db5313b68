#include "engine/models/vgg.h"

#include <stdexcept>

namespace lockstep::models {
namespace {

/// Output channels of each convolution; 0 denotes max pooling (configuration D).
constexpr int kConfiguration[] = {64, 64,  0,   128, 128, 0,   256, 256, 256,
                                  0,  512, 512, 512, 0,   512, 512, 512, 0};

constexpr const char* kWhyLegacyFails =
    "; this is classifier.0: vgg16_legacy flattens the features without pooling them, "
    "so its "
    "images must be 224 to 255 pixels high and wide, which gives 512 x 7 x 7 = 25088 "
    "features; torchvision 0.3 added adaptive average pooling before the classifier; "
    "fix: use -a vgg16";

nn::ModulePtr make_features(bool batch_norm) {
  std::vector<nn::ModulePtr> layers;
  int64_t in = 3;
  for (int64_t out : kConfiguration) {
    if (out == 0) {
      layers.push_back(std::make_shared<nn::MaxPool2d>(ops::Pool2dOptions{2, 2, 0}));
      continue;
    }
    layers.push_back(std::make_shared<nn::Conv2d>(
        nn::Conv2dSettings{.in = in, .out = out, .kernel = 3, .padding = 1}));
    if (batch_norm) layers.push_back(std::make_shared<nn::BatchNorm2d>(out));
    layers.push_back(std::make_shared<nn::ReLU>());
    in = out;
  }
  return std::make_shared<nn::Sequential>(std::move(layers));
}

nn::ModulePtr make_classifier(int64_t classes, double dropout) {
  const nn::Init small = nn::Init::normal(0.01);
  return std::make_shared<nn::Sequential>(std::vector<nn::ModulePtr>{
      std::make_shared<nn::Linear>(512 * 7 * 7, 4096, small),
      std::make_shared<nn::ReLU>(), std::make_shared<nn::Dropout>(dropout),
      std::make_shared<nn::Linear>(4096, 4096, small), std::make_shared<nn::ReLU>(),
      std::make_shared<nn::Dropout>(dropout),
      std::make_shared<nn::Linear>(4096, classes, small)});
}

}  // namespace

runtime::Slot<Tensor(const Tensor& features)>& classifier_input() {
  static runtime::Slot<Tensor(const Tensor& features)> in_use(
      "classifier_input", [](const Tensor& features) {
        return ops::flatten(ops::adaptive_avg_pool2d(features, 7, 7));
      });
  return in_use;
}

VGG::VGG(const VggSettings& settings) : settings_(settings) {
  features_ = register_module("features", make_features(settings.batch_norm));
  if (!settings.legacy) {
    avgpool_ = register_module("avgpool", std::make_shared<nn::AdaptiveAvgPool2d>(7));
  }
  classifier_ = register_module("classifier",
                                make_classifier(settings.classes, settings.dropout));
}

Tensor VGG::forward(const Tensor& input) {
  Tensor x = (*features_)(input);
  if (classifier_input().plugged()) return (*classifier_)(classifier_input()(x));
  if (avgpool_) x = (*avgpool_)(x);
  x = ops::flatten(x);
  try {
    return (*classifier_)(x);
  } catch (const std::runtime_error& error) {
    if (!settings_.legacy || x.size(1) == 512 * 7 * 7) throw;
    throw std::runtime_error(std::string(error.what()) + kWhyLegacyFails);
  }
}

}  // namespace lockstep::models
