// torchvision's nets in libtorch C++ (torchvision itself has no Debian C++ package).
#pragma once

#include <torch/torch.h>

#include <string>

namespace lockstep::bench {

struct Net {
  torch::nn::Sequential module;
  int size, classes;  // images are 3 x size x size
};

// resnet18 (3x3 stem for 32x32), vgg16 (32x32, 4096 head), resnet50 (224x224).
Net make_net(const std::string& name);

}  // namespace lockstep::bench
