// DataParallel: one process, one model, N devices. Every forward pass splits the batch
// into N chunks and copies the model to each device.
#pragma once

#include <optional>

#include "engine/parallel/primitives.h"

namespace lockstep::parallel {

/// PyTorch's nn.DataParallel, with its arguments: chunk i of the input, along `dim`
/// (negative: from the end), goes to device_ids[i]; outputs are gathered along `dim` on
/// `output_device` (default: device_ids[0]). The module's parameters and buffers must
/// be on device_ids[0], where the backward pass *sums* the gradients of the replicas
/// into those of the module. With a single device, the constructor moves the module to
/// it, and outputs stay there. Source: torch/nn/parallel/data_parallel.py.
class DataParallel : public nn::Module {
 public:
  /// Throws std::runtime_error unless `device_ids` are different devices of one type,
  /// in any order.
  DataParallel(nn::ModulePtr module, Devices device_ids,
               std::optional<Device> output_device = {}, int dim = 0);

  /// `input` may be on the host or on any of the devices.
  Tensor forward(const Tensor& input) override;

  const char* type_name() const override { return "DataParallel"; }
  nn::ModulePtr make_like() const override {
    return std::make_shared<DataParallel>(module_->make_like(), device_ids_,
                                          output_device_, dim_);
  }
  /// The wrapped module inherits the wrapper's path: traces contain no `module.`.
  void assign_paths(const std::string& path) override;

  const nn::ModulePtr& module() const { return module_; }
  const Devices& device_ids() const { return device_ids_; }
  Device output_device() const { return output_device_; }

 protected:
  /// Returns what runs in the replicas' place.
  virtual std::vector<nn::ModulePtr> prepare(std::vector<nn::ModulePtr> replicas) {
    return replicas;
  }
  /// Joins the outputs of the replicas, of which there is more than one device's.
  virtual Tensor gather(const Tensors& outputs) {
    return gather_along(dim_, outputs, output_device_);
  }

 private:
  void check_devices() const;
  void check_placement() const;

  nn::ModulePtr module_;
  Devices device_ids_;
  Device output_device_;
  int dim_;
};

}  // namespace lockstep::parallel
