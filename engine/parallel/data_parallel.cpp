#include "engine/parallel/data_parallel.h"

#include <set>
#include <stdexcept>

namespace lockstep::parallel {

DataParallel::DataParallel(nn::ModulePtr module, Devices device_ids,
                           std::optional<Device> output_device, int dim)
    : module_(register_module("module", std::move(module))),
      device_ids_(std::move(device_ids)),
      dim_(dim) {
  check_devices();
  output_device_ = output_device.value_or(device_ids_[0]);
  if (device_ids_.size() == 1) module_->to(device_ids_[0]);
  register_forward_hook(record_output);
}

Tensor DataParallel::forward(const Tensor& input) {
  check_placement();
  const Primitives& use = primitives();
  const std::vector<Tensor> inputs = scatter_along(dim_, input, device_ids_);
  if (device_ids_.size() == 1) return (*module_)(inputs[0]);
  // A small batch has fewer chunks than there are devices: the last devices stay idle.
  const Devices used(device_ids_.begin(), device_ids_.begin() + inputs.size());
  const std::vector<nn::ModulePtr> replicas = prepare(use.replicate(*module_, used));
  const std::vector<Tensor> outputs = use.parallel_apply(replicas, inputs);
  return gather(outputs);
}

void DataParallel::check_devices() const {
  if (device_ids_.empty()) throw std::runtime_error("DataParallel requires a device");
  std::set<Device> seen;
  for (const Device device : device_ids_) {
    if (device.type == device_ids_[0].type && seen.insert(device).second) continue;
    throw std::runtime_error(
        "DataParallel requires different devices of one type: " + device.str() +
        " is repeated or of another type; fix: check device_ids");
  }
}

void DataParallel::check_placement() const {
  Tensors all = parameters();
  for (const Tensor& buffer : buffers()) all.push_back(buffer);
  for (const Tensor& tensor : all) {
    if (tensor.device() == device_ids_[0]) continue;
    throw std::runtime_error(
        "module must have its parameters and buffers on device " +
        device_ids_[0].str() +
        " (device_ids[0]) but found one of them on device: " + tensor.device().str());
  }
}

void DataParallel::assign_paths(const std::string& path) {
  Module::assign_paths(path);
  module_->assign_paths(path);
}

}  // namespace lockstep::parallel
