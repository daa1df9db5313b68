// Layers: modules that have parameters, and simple modules that have none. Names,
// defaults and initial values match PyTorch's.
#pragma once

#include <optional>

#include "engine/nn/module.h"
#include "engine/ops/ops.h"

namespace lockstep::nn {

struct Conv2dSettings {
  int64_t in, out, kernel;
  int64_t stride = 1, padding = 0;
  bool bias = true;
  std::optional<Init> init = {};  ///< of weight and bias; default: see Conv2d
};

/// Parameters: `weight` out×in×k×k, `bias` out. Without `init`, weights are initialized
/// with He's fan-out rule and biases with 0, as in torchvision's ResNet and VGG.
class Conv2d : public Module {
 public:
  explicit Conv2d(const Conv2dSettings& settings);
  Tensor forward(const Tensor& input) override;
  const char* type_name() const override { return "Conv2d"; }
  std::string extra_repr() const override;
  ModulePtr make_like() const override { return std::make_shared<Conv2d>(settings_); }

 private:
  Conv2dSettings settings_;
  Tensor weight_, bias_;
};

/// Parameters: `weight` out×in, `bias` out.
class Linear : public Module {
 public:
  Linear(int64_t in, int64_t out);  ///< U(±1/√in), PyTorch's default
  Linear(int64_t in, int64_t out, const Init& weight);  ///< with zero bias
  Tensor forward(const Tensor& input) override;
  const char* type_name() const override { return "Linear"; }
  std::string extra_repr() const override;
  ModulePtr make_like() const override { return std::make_shared<Linear>(in_, out_); }

 private:
  Linear(int64_t in, int64_t out, const Init& weight, const Init& bias);
  int64_t in_, out_;
  Tensor weight_, bias_;
};

/// Training-mode batch norm with statistics over the batches of several processes; see
/// convert_sync_batchnorm. `path` is the module's path; `site` is the call site.
using SyncBatchNorm =
    std::function<Tensor(const Tensor& input, const ops::BatchNormState& state,
                         const char* path, std::source_location site)>;

/// Parameters: `weight`, `bias`; buffers: `running_mean`, `running_var`,
/// `num_batches_tracked`.
class BatchNorm2d : public Module {
 public:
  explicit BatchNorm2d(int64_t channels);
  Tensor forward(const Tensor& input) override;
  const char* type_name() const override;
  std::string extra_repr() const override;
  ModulePtr make_like() const override;

  /// Turns this layer into a SyncBatchNorm; see convert_sync_batchnorm.
  void synchronize(SyncBatchNorm sync) { sync_ = std::move(sync); }
  bool synchronized() const { return sync_ != nullptr; }

 private:
  int64_t channels_;
  ops::BatchNormState state_;
  SyncBatchNorm sync_;  ///< null for a regular batch norm
};

/// Operates in place, as in torchvision's models.
class ReLU : public Module {
 public:
  Tensor forward(const Tensor& input) override;
  const char* type_name() const override { return "ReLU"; }
  std::string extra_repr() const override;
  ModulePtr make_like() const override { return std::make_shared<ReLU>(); }
};

class MaxPool2d : public Module {
 public:
  explicit MaxPool2d(const ops::Pool2dOptions& options) : options_(options) {}
  Tensor forward(const Tensor& input) override;
  const char* type_name() const override { return "MaxPool2d"; }
  std::string extra_repr() const override;
  ModulePtr make_like() const override { return std::make_shared<MaxPool2d>(options_); }

 private:
  ops::Pool2dOptions options_;
};

class AdaptiveAvgPool2d : public Module {
 public:
  explicit AdaptiveAvgPool2d(int64_t size) : size_(size) {}
  Tensor forward(const Tensor& input) override;
  const char* type_name() const override { return "AdaptiveAvgPool2d"; }
  std::string extra_repr() const override;
  ModulePtr make_like() const override {
    return std::make_shared<AdaptiveAvgPool2d>(size_);
  }

 private:
  int64_t size_;
};

class Dropout : public Module {
 public:
  explicit Dropout(double p = 0.5) : p_(p) {}
  Tensor forward(const Tensor& input) override;
  const char* type_name() const override { return "Dropout"; }
  std::string extra_repr() const override;
  ModulePtr make_like() const override { return std::make_shared<Dropout>(p_); }

 private:
  double p_;
};

/// Runs its children in order; they are named 0, 1, 2, …
class Sequential : public Module {
 public:
  explicit Sequential(std::vector<ModulePtr> layers);
  Tensor forward(const Tensor& input) override;
  const char* type_name() const override { return "Sequential"; }
  ModulePtr make_like() const override;
  std::vector<Part> parts() const override { return children_as_parts(); }
};

// SyncBatchNorm: batch norm with statistics over the batches of all ranks.

/// Turns every BatchNorm2d in `module` (or `module` itself) into PyTorch's
/// SyncBatchNorm: it calls `sync` in training mode; evaluation is unchanged. Returns
/// the number converted. Must be called before DistributedDataParallel wraps `module`.
/// Python replaces the modules; here members are statically typed, so layers change in
/// place. `distributed::convert_sync_batchnorm` makes `sync` for a process group.
/// Source: torch/nn/modules/batchnorm.py, SyncBatchNorm.convert_sync_batchnorm.
int convert_sync_batchnorm(Module& module, const SyncBatchNorm& sync);

/// Returns whether `module` contains a converted layer.
bool has_sync_batchnorm(const Module& module);

}  // namespace lockstep::nn
