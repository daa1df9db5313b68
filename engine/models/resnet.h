// ResNet-18, -34, -50, -101 and -152 (He et al., Deep Residual Learning, 2015) with
// torchvision's names, shapes, initialization and parameter counts, and ResNet-20, the
// smallest of the paper's nets for CIFAR-10, of the same blocks (torchvision has none).
// Where the shape changes, its shortcuts are projections (the paper's option B) rather
// than padded with zeros (option A): 272,474 parameters instead of 269,722.
// Source: torchvision/models/resnet.py; the paper's section 4.2.
#pragma once

#include "engine/nn/layers.h"

namespace lockstep::models {

/// The first layers. `imagenet`: a 7×7 convolution with stride 2, then max pooling.
/// `cifar`: a 3×3 convolution with stride 1 and no pooling, for 32×32 images.
enum class Stem { cifar, imagenet };

/// Two 3×3 convolutions and a shortcut connection.
class BasicBlock : public nn::Module {
 public:
  static constexpr int64_t kExpansion = 1;
  BasicBlock(int64_t in, int64_t width, int64_t stride);
  Tensor forward(const Tensor& x) override;
  const char* type_name() const override { return "BasicBlock"; }
  bool is_block() const override { return true; }
  nn::ModulePtr make_like() const override;

 private:
  int64_t in_, width_, stride_;
  std::shared_ptr<nn::Conv2d> conv1_, conv2_;
  std::shared_ptr<nn::BatchNorm2d> bn1_, bn2_;
  std::shared_ptr<nn::ReLU> relu_;
  std::shared_ptr<nn::Sequential> downsample_;
};

/// 1×1, 3×3 and 1×1 convolutions and a shortcut; the stride is on the 3×3 convolution.
class Bottleneck : public nn::Module {
 public:
  static constexpr int64_t kExpansion = 4;
  Bottleneck(int64_t in, int64_t width, int64_t stride);
  Tensor forward(const Tensor& x) override;
  const char* type_name() const override { return "Bottleneck"; }
  bool is_block() const override { return true; }
  nn::ModulePtr make_like() const override;

 private:
  int64_t in_, width_, stride_;
  std::shared_ptr<nn::Conv2d> conv1_, conv2_, conv3_;
  std::shared_ptr<nn::BatchNorm2d> bn1_, bn2_, bn3_;
  std::shared_ptr<nn::ReLU> relu_;
  std::shared_ptr<nn::Sequential> downsample_;
};

struct ResNetSettings {
  bool bottleneck = false;
  std::vector<int> blocks{2, 2, 2, 2};  ///< of each stage
  int64_t classes = 1000;
  Stem stem = Stem::imagenet;
  /// Channels of the first stage; each later one has twice as many as the one before.
  int64_t width = 64;
};

class ResNet : public nn::Module {
 public:
  explicit ResNet(const ResNetSettings& settings);
  Tensor forward(const Tensor& x) override;
  const char* type_name() const override { return "ResNet"; }
  nn::ModulePtr make_like() const override {
    return std::make_shared<ResNet>(settings_);
  }
  std::vector<nn::Part> parts() const override { return children_as_parts("fc"); }

 private:
  ResNetSettings settings_;
  std::shared_ptr<nn::Conv2d> conv1_;
  std::shared_ptr<nn::BatchNorm2d> bn1_;
  std::shared_ptr<nn::ReLU> relu_;
  std::shared_ptr<nn::MaxPool2d> maxpool_;
  std::vector<std::shared_ptr<nn::Sequential>> layers_;
  std::shared_ptr<nn::AdaptiveAvgPool2d> avgpool_;
  std::shared_ptr<nn::Linear> fc_;
};

}  // namespace lockstep::models
