// rejected by: gradients
// because: the model never learns
//
// The misconception: a parameter is a leaf that requires a gradient, wherever it is.

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
for (Tensor& output : outputs) output.set_requires_grad(true);
const std::vector<Tensors> buffers = send_buffers(module.buffers(), devices);
std::vector<nn::ModulePtr> replicas;
for (size_t d = 0; d < devices.size(); ++d) {
  replicas.push_back(assemble(module, copies[d], buffers[d]));
}
return replicas;
// [/solution-replicate]
