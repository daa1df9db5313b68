#include "engine/models/zoo.h"

#include <cstdio>
#include <stdexcept>

#include "engine/models/vgg.h"
#include "engine/nn/functional.h"

namespace lockstep::models {

Toy::Toy(int64_t in, int64_t out, bool print) : in_(in), out_(out), print_(print) {
  fc_ = register_module("fc", std::make_shared<nn::Linear>(in, out));
}

Tensor Toy::forward(const Tensor& input) {
  const Tensor output = (*fc_)(input);
  if (print_) {
    // Use a single write per line, since replicas print concurrently.
    const std::string line = "\tIn Model: input size torch.Size(" +
                             input.sizes().str() + ") output size torch.Size(" +
                             output.sizes().str() + ")\n";
    std::fputs(line.c_str(), stdout);
  }
  return output;
}

LogisticRegression::LogisticRegression(int64_t features, int64_t classes)
    : weight_(
          register_parameter("weight", {classes, features}, nn::Init::constant(0))) {}

Tensor LogisticRegression::forward(const Tensor& input) {
  return nn::functional::linear(input, weight_);
}

const std::vector<std::string>& names() {
  static const std::vector<std::string> all{
      "alexnet",   "resnet18", "resnet20", "resnet34",     "resnet50", "resnet101",
      "resnet152", "vgg16",    "vgg16_bn", "vgg16_legacy", "toy",      "sparse"};
  return all;
}

nn::ModulePtr make(const std::string& arch, const ZooOptions& o) {
  nn::ModulePtr model;
  auto resnet = [&o](bool bottleneck, std::vector<int> blocks, int64_t width = 64) {
    return std::make_shared<ResNet>(
        ResNetSettings{bottleneck, std::move(blocks), o.classes, o.stem, width});
  };
  auto vgg = [&o](bool batch_norm, bool legacy) {
    return std::make_shared<VGG>(VggSettings{o.classes, batch_norm, o.dropout, legacy});
  };
  if (arch == "alexnet") {
    model = std::make_shared<AlexNet>(AlexNetSettings{o.classes, o.dropout});
  }
  if (arch == "resnet18") model = resnet(false, {2, 2, 2, 2});
  if (arch == "resnet20") model = resnet(false, {3, 3, 3}, 16);
  if (arch == "resnet34") model = resnet(false, {3, 4, 6, 3});
  if (arch == "resnet50") model = resnet(true, {3, 4, 6, 3});
  if (arch == "resnet101") model = resnet(true, {3, 4, 23, 3});
  if (arch == "resnet152") model = resnet(true, {3, 8, 36, 3});
  if (arch == "vgg16") model = vgg(false, false);
  if (arch == "vgg16_bn") model = vgg(true, false);
  if (arch == "vgg16_legacy") model = vgg(false, true);
  if (arch == "toy") model = std::make_shared<Toy>(5, 2, true);
  if (arch == "sparse") {
    model = std::make_shared<LogisticRegression>(o.features, o.classes);
  }
  if (!model) {
    std::string list;
    for (const std::string& name : names()) list += (list.empty() ? "" : ", ") + name;
    throw std::invalid_argument("unknown architecture '" + arch +
                                "'; available: " + list);
  }
  model->assign_paths("");
  return model;
}

}  // namespace lockstep::models
