#include "torch_nets.h"

#include <stdexcept>

namespace lockstep::bench {
namespace {

namespace nn = torch::nn;

nn::Conv2d conv(int in, int out, int kernel, int stride) {
  const int pad = (kernel - 1) / 2;
  return nn::Conv2d(
      nn::Conv2dOptions(in, out, kernel).stride(stride).padding(pad).bias(false));
}

nn::ReLU relu() { return nn::ReLU(nn::ReLUOptions(true)); }  // in place

// One block of either kind: a body, and a shortcut if the shape changes.
struct BlockImpl : nn::Module {
  BlockImpl(nn::Sequential body, int in, int out, int stride)
      : body_(register_module("body", body)) {
    if (stride != 1 || in != out)
      shortcut_ = register_module(
          "downsample", nn::Sequential(conv(in, out, 1, stride), nn::BatchNorm2d(out)));
  }
  torch::Tensor forward(torch::Tensor x) {
    torch::Tensor y = body_->forward(x);
    y += shortcut_ ? shortcut_->forward(x) : x;
    return y.relu_();
  }
  nn::Sequential body_, shortcut_{nullptr};
};
TORCH_MODULE(Block);

Block basic_block(int in, int width, int stride) {
  return Block(nn::Sequential(conv(in, width, 3, stride), nn::BatchNorm2d(width),
                              relu(), conv(width, width, 3, 1), nn::BatchNorm2d(width)),
               in, width, stride);
}

Block bottleneck(int in, int width, int stride) {
  return Block(
      nn::Sequential(conv(in, width, 1, 1), nn::BatchNorm2d(width), relu(),
                     conv(width, width, 3, stride), nn::BatchNorm2d(width), relu(),
                     conv(width, 4 * width, 1, 1), nn::BatchNorm2d(4 * width)),
      in, 4 * width, stride);
}

void append_resnet_stages(nn::Sequential& net, Block (*block)(int, int, int),
                          int expansion, const int (&depths)[4], int classes) {
  int in = 64;
  for (int stage = 0; stage < 4; ++stage)
    for (int i = 0; i < depths[stage]; ++i) {
      net->push_back(block(in, 64 << stage, stage > 0 && i == 0 ? 2 : 1));
      in = (64 << stage) * expansion;
    }
  net->push_back(nn::AdaptiveAvgPool2d(1));
  net->push_back(nn::Flatten());
  net->push_back(nn::Linear(in, classes));
}

nn::Sequential resnet18() {
  nn::Sequential net(conv(3, 64, 3, 1), nn::BatchNorm2d(64), relu());
  append_resnet_stages(net, basic_block, 1, {2, 2, 2, 2}, 10);
  return net;
}

nn::Sequential resnet50() {
  nn::Sequential net(conv(3, 64, 7, 2), nn::BatchNorm2d(64), relu(),
                     nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)));
  append_resnet_stages(net, bottleneck, 4, {3, 4, 6, 3}, 1000);
  return net;
}

nn::Sequential vgg16() {
  const int depths[] = {2, 2, 3, 3, 3}, widths[] = {64, 128, 256, 512, 512};
  nn::Sequential net;
  int in = 3;
  for (int stage = 0; stage < 5; ++stage) {
    for (int i = 0; i < depths[stage]; ++i) {
      net->push_back(nn::Conv2d(nn::Conv2dOptions(in, widths[stage], 3).padding(1)));
      net->push_back(relu());
      in = widths[stage];
    }
    net->push_back(nn::MaxPool2d(nn::MaxPool2dOptions(2).stride(2)));
  }
  net->push_back(nn::AdaptiveAvgPool2d(7));
  net->push_back(nn::Flatten());
  for (int features : {512 * 7 * 7, 4096}) {
    net->push_back(nn::Linear(features, 4096));
    net->push_back(relu());
    net->push_back(nn::Dropout(0.5));
  }
  net->push_back(nn::Linear(4096, 10));
  return net;
}

// torchvision's initialization: He fan-out for convolutions; N(0, 0.01) for VGG's
// linear layers.
void initialise(nn::Module& net, bool vgg) {
  torch::NoGradGuard no_grad;
  for (const auto& module : net.modules(false)) {
    if (auto* c = module->as<nn::Conv2d>()) {
      nn::init::kaiming_normal_(c->weight, 0, torch::kFanOut, torch::kReLU);
      if (c->bias.defined()) c->bias.zero_();
    } else if (auto* l = module->as<nn::Linear>(); l && vgg) {
      nn::init::normal_(l->weight, 0, 0.01);
      l->bias.zero_();
    }
  }
}

}  // namespace

Net make_net(const std::string& name) {
  Net net{nullptr, name == "resnet50" ? 224 : 32, name == "resnet50" ? 1000 : 10};
  if (name == "resnet18") {
    net.module = resnet18();
  } else if (name == "vgg16") {
    net.module = vgg16();
  } else if (name == "resnet50") {
    net.module = resnet50();
  } else {
    throw std::runtime_error("no net " + name +
                             "; there are resnet18, vgg16, resnet50");
  }
  initialise(*net.module, name == "vgg16");
  return net;
}

}  // namespace lockstep::bench
