#include "engine/nn/layers.h"

#include <fmt/format.h>

#include <stdexcept>

#include "engine/nn/recompute.h"

namespace lockstep::nn {
namespace {

/// Returns a number as Python prints a float: 0.5, 1.0, 1e-05.
std::string python_float(double value) {
  const std::string text = fmt::format("{}", value);
  return text.find_first_not_of("-0123456789") == text.npos ? text + ".0" : text;
}

}  // namespace

Conv2d::Conv2d(const Conv2dSettings& s) : settings_(s) {
  const Init he = Init::kaiming_normal_fan_out(s.out * s.kernel * s.kernel);
  weight_ = register_parameter("weight", {s.out, s.in, s.kernel, s.kernel},
                               s.init.value_or(he));
  if (!s.bias) return;
  bias_ = register_parameter("bias", {s.out}, s.init.value_or(Init::constant(0)));
}

std::string Conv2d::extra_repr() const {
  const Conv2dSettings& s = settings_;
  std::string text = fmt::format("{0}, {1}, kernel_size=({2}, {2}), stride=({3}, {3})",
                                 s.in, s.out, s.kernel, s.stride);
  if (s.padding != 0) text += fmt::format(", padding=({0}, {0})", s.padding);
  return s.bias ? text : text + ", bias=False";
}

Tensor Conv2d::forward(const Tensor& input) {
  return ops::conv2d(input, weight_, bias_, {settings_.stride, settings_.padding});
}

Linear::Linear(int64_t in, int64_t out)
    : Linear(in, out, Init::default_uniform(in), Init::default_uniform(in)) {}

Linear::Linear(int64_t in, int64_t out, const Init& weight)
    : Linear(in, out, weight, Init::constant(0)) {}

Linear::Linear(int64_t in, int64_t out, const Init& weight, const Init& bias)
    : in_(in), out_(out) {
  weight_ = register_parameter("weight", {out, in}, weight);
  bias_ = register_parameter("bias", {out}, bias);
}

std::string Linear::extra_repr() const {
  return fmt::format("in_features={}, out_features={}, bias=True", in_, out_);
}

Tensor Linear::forward(const Tensor& input) {
  return ops::linear(input, weight_, bias_);
}

BatchNorm2d::BatchNorm2d(int64_t channels) : channels_(channels) {
  state_.weight = register_parameter("weight", {channels}, Init::constant(1));
  state_.bias = register_parameter("bias", {channels}, Init::constant(0));
  state_.running_mean =
      register_buffer("running_mean", initial({channels}, Init::constant(0)));
  state_.running_var =
      register_buffer("running_var", initial({channels}, Init::constant(1)));
  const bool skeleton = construction().skeleton;
  state_.tracked = register_buffer("num_batches_tracked",
                                   skeleton ? Tensor::unset({{}, DType::i64, nullptr})
                                            : Tensor::scalar(0, DType::i64));
}

std::string BatchNorm2d::extra_repr() const {
  return fmt::format(
      "{}, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True", channels_);
}

Tensor BatchNorm2d::forward(const Tensor& input) {
  if (sync_ && training()) {
    return sync_(input, state_, path(), std::source_location::current());
  }
  return ops::batch_norm(input, state_, training());
}

const char* BatchNorm2d::type_name() const {
  return sync_ ? "SyncBatchNorm" : "BatchNorm2d";
}

ModulePtr BatchNorm2d::make_like() const {
  if (sync_) {
    throw std::runtime_error(
        "SyncBatchNorm requires DistributedDataParallel: replicas of DataParallel are "
        "not ranks");
  }
  return std::make_shared<BatchNorm2d>(channels_);
}

std::string ReLU::extra_repr() const { return "inplace=True"; }

Tensor ReLU::forward(const Tensor& input) {
  Tensor output = input;  // a handle to the same memory
  return ops::relu_(output);
}

std::string MaxPool2d::extra_repr() const {
  return fmt::format(
      "kernel_size={}, stride={}, padding={}, dilation=1, ceil_mode=False",
      options_.kernel, options_.stride, options_.padding);
}

Tensor MaxPool2d::forward(const Tensor& input) {
  return ops::max_pool2d(input, options_);
}

std::string AdaptiveAvgPool2d::extra_repr() const {
  return fmt::format("output_size=({0}, {0})", size_);
}

Tensor AdaptiveAvgPool2d::forward(const Tensor& input) {
  return ops::adaptive_avg_pool2d(input, size_, size_);
}

std::string Dropout::extra_repr() const {
  return "p=" + python_float(p_) + ", inplace=False";
}

Tensor Dropout::forward(const Tensor& input) {
  return ops::dropout(input, p_, training());
}

Sequential::Sequential(std::vector<ModulePtr> layers) {
  for (size_t i = 0; i < layers.size(); ++i) {
    register_module(std::to_string(i), std::move(layers[i]));
  }
}

Tensor Sequential::forward(const Tensor& input) {
  Tensor output = input;
  for (const auto& [name, layer] : children()) output = call_child(layer, output);
  return output;
}

ModulePtr Sequential::make_like() const {
  std::vector<ModulePtr> layers;
  for (const auto& [name, layer] : children()) layers.push_back(layer->make_like());
  return std::make_shared<Sequential>(std::move(layers));
}

int convert_sync_batchnorm(Module& module, const SyncBatchNorm& sync) {
  int converted = 0;
  if (auto* layer = dynamic_cast<BatchNorm2d*>(&module)) {
    layer->synchronize(sync);
    ++converted;
  }
  for (const auto& [name, child] : module.children()) {
    converted += convert_sync_batchnorm(*child, sync);
  }
  return converted;
}

bool has_sync_batchnorm(const Module& module) {
  const auto* layer = dynamic_cast<const BatchNorm2d*>(&module);
  if (layer && layer->synchronized()) return true;
  for (const auto& [name, child] : module.children()) {
    if (has_sync_batchnorm(*child)) return true;
  }
  return false;
}

}  // namespace lockstep::nn
