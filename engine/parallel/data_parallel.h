// DataParallel: one process, one model, N devices; in every forward pass the batch is
// cut in N and the model copied to everybody.
#pragma once

#include "engine/parallel/primitives.h"

namespace lockstep::parallel {

/// PyTorch's nn.DataParallel. The module's parameters and buffers must live on
/// devices[0]; outputs come together there too. In the backward pass the replicas'
/// gradients are *summed* into them.
/// Source: torch/nn/parallel/data_parallel.py.
class DataParallel : public nn::Module {
 public:
  DataParallel(nn::ModulePtr module, Devices devices);

  /// `input` lies on the host or on devices[0].
  Tensor forward(const Tensor& input) override;

  const char* type_name() const override { return "DataParallel"; }
  nn::ModulePtr make_like() const override {
    return std::make_shared<DataParallel>(module_->make_like(), devices_);
  }
  /// The wrapped module keeps the wrapper's path: no `module.` in traces.
  void assign_paths(const std::string& path) override;

  const nn::ModulePtr& module() const { return module_; }

  /// What the last forward pass did, for the trace's `step` event.
  struct LastCall {
    std::vector<int64_t> chunks;
    int64_t input_bytes = 0, output_bytes = 0;
  };
  const LastCall& last_call() const { return last_call_; }

 private:
  void check_placement() const;

  nn::ModulePtr module_;
  Devices devices_;
  LastCall last_call_;
};

}  // namespace lockstep::parallel
