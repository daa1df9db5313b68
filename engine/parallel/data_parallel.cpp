#include "engine/parallel/data_parallel.h"

#include <stdexcept>

namespace lockstep::parallel {

DataParallel::DataParallel(nn::ModulePtr module, Devices devices)
    : module_(register_module("module", std::move(module))),
      devices_(std::move(devices)) {
  if (devices_.empty()) throw std::runtime_error("DataParallel requires a device");
  register_forward_hook(record_output);
}

Tensor DataParallel::forward(const Tensor& input) {
  check_placement();
  const Primitives& use = primitives();
  const std::vector<Tensor> inputs = use.scatter(input, devices_);
  if (devices_.size() == 1) return (*module_)(inputs[0]);
  // A small batch has fewer chunks than there are devices: the last devices stay idle.
  const Devices used(devices_.begin(), devices_.begin() + inputs.size());
  const std::vector<nn::ModulePtr> replicas = use.replicate(*module_, used);
  const std::vector<Tensor> outputs = use.parallel_apply(replicas, inputs);
  return use.gather(outputs, devices_[0]);
}

void DataParallel::check_placement() const {
  Tensors all = parameters();
  for (const Tensor& buffer : buffers()) all.push_back(buffer);
  for (const Tensor& tensor : all) {
    if (tensor.device() == devices_[0]) continue;
    throw std::runtime_error(
        "module must have its parameters and buffers on device " + devices_[0].str() +
        " (device_ids[0]) but found one of them on device: " + tensor.device().str());
  }
}

void DataParallel::assign_paths(const std::string& path) {
  Module::assign_paths(path);
  module_->assign_paths(path);
}

}  // namespace lockstep::parallel
