// Models by name.
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

/// Creates a model. Throws std::invalid_argument that lists the names if `arch` is not
/// among them.
nn::ModulePtr make(const std::string& arch, const ZooOptions& options);

}  // namespace lockstep::models
