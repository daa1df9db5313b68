// Creation of models by name.
#pragma once

#include <string>
#include <vector>

#include "engine/models/resnet.h"

namespace lockstep::models {

struct ZooOptions {
  int64_t classes = 10;
  Stem stem = Stem::cifar;
  double dropout = 0.5;
};

/// `resnet18`, `resnet34`, `resnet50`, `vgg16`, `vgg16_bn`, `vgg16_legacy`, `toy`.
const std::vector<std::string>& names();

/// Creates the model named `arch`. Throws std::invalid_argument listing the valid names
/// if there is no such model.
nn::ModulePtr make(const std::string& arch, const ZooOptions& options);

}  // namespace lockstep::models
