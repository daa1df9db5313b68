// DataParallel: one process, one model, N devices. Every forward pass splits the batch
// into N chunks and copies the model to each device.
#pragma once

#include "engine/parallel/primitives.h"

namespace lockstep::parallel {

/// PyTorch's nn.DataParallel. The module's parameters and buffers must be on
/// devices[0], where the outputs are gathered. The backward pass *sums* the gradients
/// of the replicas into those of the module.
/// Source: torch/nn/parallel/data_parallel.py.
class DataParallel : public nn::Module {
 public:
  DataParallel(nn::ModulePtr module, Devices devices);

  /// `input` must be on the host or on devices[0].
  Tensor forward(const Tensor& input) override;

  const char* type_name() const override { return "DataParallel"; }
  nn::ModulePtr make_like() const override {
    return std::make_shared<DataParallel>(module_->make_like(), devices_);
  }
  /// The wrapped module inherits the wrapper's path: traces contain no `module.`.
  void assign_paths(const std::string& path) override;

  const nn::ModulePtr& module() const { return module_; }

 private:
  void check_placement() const;

  nn::ModulePtr module_;
  Devices devices_;
};

}  // namespace lockstep::parallel
