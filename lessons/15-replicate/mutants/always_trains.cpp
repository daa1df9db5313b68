// rejected by: same_function
// because: does what its model does
//
// The misconception: replicas are for training.

// [solution-replicate]
const Tensors parameters = module.parameters();
std::vector<Tensors> copies = send_parameters(parameters, devices);
Tensors outputs;
for (Tensors& on_device : copies) {
  for (Tensor& copy : on_device) {
    copy = copy.detach();
    outputs.push_back(copy);
  }
}
std::vector<std::pair<Shape, DType>> specs;
for (const Tensor& parameter : parameters) {
  specs.emplace_back(parameter.sizes(), parameter.dtype());
}
autograd::set_history(
    "BroadcastBackward", parameters, outputs, tracer::innermost_event(),
    [=](Tensors grads) {
      std::vector<Tensors> by_device(devices.size());
      size_t next = 0;
      for (size_t d = 0; d < devices.size(); ++d) {
        for (const auto& [sizes, dtype] : specs) {
          by_device[d].push_back(or_zeros(grads[next++], sizes, dtype, devices[d]));
        }
      }
      return reduce(by_device, devices[0]);
    });
const std::vector<Tensors> buffers = send_buffers(module.buffers(), devices);
std::vector<nn::ModulePtr> replicas;
for (size_t d = 0; d < devices.size(); ++d) {
  replicas.push_back(assemble(module, copies[d], buffers[d]));
}
for (const nn::ModulePtr& replica : replicas) replica->train();
return replicas;
// [/solution-replicate]
