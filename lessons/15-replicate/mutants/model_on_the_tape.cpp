// rejected by: gradients
// because: need .detach()
//
// The misconception: what is on device 0 already can be used as it is. The model's own
// parameters get a history then, and stop being leaves.

// [solution-replicate]
const Tensors parameters = module.parameters();
std::vector<Tensors> copies = send_parameters(parameters, devices);
Tensors outputs;
for (Tensors& on_device : copies) {
  for (Tensor& copy : on_device) {
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
return replicas;
// [/solution-replicate]
