// DataParallel: one process, one model, N devices. Every forward pass cuts the batch in
// N chunks and copies the model to every device.
#pragma once

#include "engine/parallel/primitives.h"

namespace lockstep::parallel {

/// PyTorch's nn.DataParallel. The module's parameters and buffers must live on
/// devices[0]; the outputs are joined there. The backward pass *sums* the replicas'
/// gradients into the module's.
/// Source: torch/nn/parallel/data_parallel.py.
class DataParallel : public nn::Module {
 public:
  DataParallel(nn::ModulePtr module, Devices devices);

  /// `input` must lie on the host or on devices[0].
  Tensor forward(const Tensor& input) override;

  const char* type_name() const override { return "DataParallel"; }
  nn::ModulePtr make_like() const override {
    return std::make_shared<DataParallel>(module_->make_like(), devices_);
  }
  /// The wrapped module keeps the wrapper's path: no `module.` in traces.
  void assign_paths(const std::string& path) override;

  const nn::ModulePtr& module() const { return module_; }

 private:
  void check_placement() const;

  nn::ModulePtr module_;
  Devices devices_;
};

}  // namespace lockstep::parallel
