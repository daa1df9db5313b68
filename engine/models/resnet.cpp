#include "engine/models/resnet.h"

namespace lockstep::models {
namespace {

std::shared_ptr<nn::Conv2d> conv(int64_t in, int64_t out, int64_t kernel,
                                 int64_t stride) {
  return std::make_shared<nn::Conv2d>(nn::Conv2dSettings{.in = in,
                                                         .out = out,
                                                         .kernel = kernel,
                                                         .stride = stride,
                                                         .padding = kernel / 2,
                                                         .bias = false});
}

std::shared_ptr<nn::BatchNorm2d> batch_norm(int64_t channels) {
  return std::make_shared<nn::BatchNorm2d>(channels);
}

/// Returns the shortcut's projection if the shape changes; otherwise null.
std::shared_ptr<nn::Sequential> downsample(int64_t in, int64_t out, int64_t stride) {
  if (in == out && stride == 1) return nullptr;
  return std::make_shared<nn::Sequential>(
      std::vector<nn::ModulePtr>{conv(in, out, 1, stride), batch_norm(out)});
}

}  // namespace

BasicBlock::BasicBlock(int64_t in, int64_t width, int64_t stride)
    : in_(in), width_(width), stride_(stride) {
  conv1_ = register_module("conv1", conv(in, width, 3, stride));
  bn1_ = register_module("bn1", batch_norm(width));
  relu_ = register_module("relu", std::make_shared<nn::ReLU>());
  conv2_ = register_module("conv2", conv(width, width, 3, 1));
  bn2_ = register_module("bn2", batch_norm(width));
  downsample_ = downsample(in, width, stride);
  if (downsample_) register_module("downsample", downsample_);
}

nn::ModulePtr BasicBlock::make_like() const {
  return std::make_shared<BasicBlock>(in_, width_, stride_);
}

Tensor BasicBlock::forward(const Tensor& x) {
  Tensor out = (*conv1_)(x);
  out = (*bn1_)(out);
  out = (*relu_)(out);

  out = (*conv2_)(out);
  out = (*bn2_)(out);

  const Tensor identity = downsample_ ? (*downsample_)(x) : x;
  ops::add_(out, identity);
  return (*relu_)(out);
}

Bottleneck::Bottleneck(int64_t in, int64_t width, int64_t stride)
    : in_(in), width_(width), stride_(stride) {
  const int64_t out = width * kExpansion;
  conv1_ = register_module("conv1", conv(in, width, 1, 1));
  bn1_ = register_module("bn1", batch_norm(width));
  conv2_ = register_module("conv2", conv(width, width, 3, stride));
  bn2_ = register_module("bn2", batch_norm(width));
  conv3_ = register_module("conv3", conv(width, out, 1, 1));
  bn3_ = register_module("bn3", batch_norm(out));
  relu_ = register_module("relu", std::make_shared<nn::ReLU>());
  downsample_ = downsample(in, out, stride);
  if (downsample_) register_module("downsample", downsample_);
}

nn::ModulePtr Bottleneck::make_like() const {
  return std::make_shared<Bottleneck>(in_, width_, stride_);
}

Tensor Bottleneck::forward(const Tensor& x) {
  Tensor out = (*conv1_)(x);
  out = (*bn1_)(out);
  out = (*relu_)(out);

  out = (*conv2_)(out);
  out = (*bn2_)(out);
  out = (*relu_)(out);

  out = (*conv3_)(out);
  out = (*bn3_)(out);

  const Tensor identity = downsample_ ? (*downsample_)(x) : x;
  ops::add_(out, identity);
  return (*relu_)(out);
}

ResNet::ResNet(const ResNetSettings& settings) : settings_(settings) {
  const bool cifar = settings.stem == Stem::cifar;
  const int64_t first = settings.width;
  conv1_ =
      register_module("conv1", cifar ? conv(3, first, 3, 1) : conv(3, first, 7, 2));
  bn1_ = register_module("bn1", batch_norm(first));
  relu_ = register_module("relu", std::make_shared<nn::ReLU>());
  if (!cifar) {
    maxpool_ = register_module(
        "maxpool", std::make_shared<nn::MaxPool2d>(ops::Pool2dOptions{3, 2, 1}));
  }

  int64_t in = first;
  for (size_t stage = 0; stage < settings.blocks.size(); ++stage) {
    const int64_t width = first << stage;
    std::vector<nn::ModulePtr> blocks;
    for (int i = 0; i < settings.blocks[stage]; ++i) {
      const int64_t stride = i == 0 && stage > 0 ? 2 : 1;
      if (settings.bottleneck) {
        blocks.push_back(std::make_shared<Bottleneck>(in, width, stride));
        in = width * Bottleneck::kExpansion;
      } else {
        blocks.push_back(std::make_shared<BasicBlock>(in, width, stride));
        in = width * BasicBlock::kExpansion;
      }
    }
    layers_.push_back(register_module("layer" + std::to_string(stage + 1),
                                      std::make_shared<nn::Sequential>(blocks)));
  }
  avgpool_ = register_module("avgpool", std::make_shared<nn::AdaptiveAvgPool2d>(1));
  fc_ = register_module("fc", std::make_shared<nn::Linear>(in, settings.classes));
}

Tensor ResNet::forward(const Tensor& input) {
  Tensor x = (*conv1_)(input);
  x = (*bn1_)(x);
  x = (*relu_)(x);
  if (maxpool_) x = (*maxpool_)(x);

  for (const auto& layer : layers_) x = (*layer)(x);

  x = (*avgpool_)(x);
  x = ops::flatten(x);
  return (*fc_)(x);
}

}  // namespace lockstep::models
