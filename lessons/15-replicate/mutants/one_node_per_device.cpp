// rejected by: messages
// because: one node for all parameters
//
// The misconception: each replica has a way back of its own. Gradients then arrive one
// by one, and not in groups.

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
for (size_t d = 0; d < devices.size(); ++d) {
  autograd::set_history(
      "BroadcastBackward", parameters, copies[d], tracer::innermost_event(),
      [=](Tensors grads) {
        Tensors sent;
        for (size_t i = 0; i < specs.size(); ++i) {
          const auto& [sizes, dtype] = specs[i];
          sent.push_back(ops::copy_to(or_zeros(grads[i], sizes, dtype, devices[d]),
                                      devices[0], {"reduce", "gradient"}));
        }
        return sent;
      });
}
const std::vector<Tensors> buffers = send_buffers(module.buffers(), devices);
std::vector<nn::ModulePtr> replicas;
for (size_t d = 0; d < devices.size(); ++d) {
  replicas.push_back(assemble(module, copies[d], buffers[d]));
}
return replicas;
// [/solution-replicate]
