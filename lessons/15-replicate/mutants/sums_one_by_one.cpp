// rejected by: messages
// because: sends gradients in groups
//
// The misconception: a sum of gradients is a loop of additions.

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
      const tracer::Phase phase("reduce");
      Tensors sums = by_device[0];
      for (size_t d = 1; d < devices.size(); ++d) {
        for (size_t i = 0; i < sums.size(); ++i) {
          sums[i] = ops::add(sums[i], ops::copy_to(by_device[d][i], devices[0],
                                                   {"reduce", "gradient"}));
        }
      }
      return sums;
    });
const std::vector<Tensors> buffers = send_buffers(module.buffers(), devices);
std::vector<nn::ModulePtr> replicas;
for (size_t d = 0; d < devices.size(); ++d) {
  replicas.push_back(assemble(module, copies[d], buffers[d]));
}
return replicas;
// [/solution-replicate]
