// Replicate: copies the model to every device in every forward pass.
// Source: torch/nn/parallel/replicate.py.
#include "engine/autograd/node.h"
#include "engine/ops/ops.h"
#include "engine/parallel/primitives.h"
#include "tracer/record/recorder.h"

namespace lockstep::parallel {
namespace {

/// The gradient of a broadcast is the sum over replicas. It is *one* node on the tape,
/// so the engine runs it only when all gradients of all replicas are ready:
/// DataParallel sends no gradient before the whole backward pass is complete.
Tensors reduce_to_device_0(Tensors grads, const Tensors& parameters,
                           const Devices& devices) {
  tracer::Phase phase("reduce");
  std::vector<Tensors> by_device(devices.size());
  for (size_t d = 0, i = 0; d < devices.size(); ++d) {
    for (const Tensor& parameter : parameters) {
      Tensor grad = std::move(grads[i++]);
      if (!grad.defined()) {  // the parameter was not used
        grad = Tensor::empty(parameter.spec(), devices[d]);
        grad = ops::full_like(grad, 0);
      }
      by_device[d].push_back(std::move(grad));
    }
  }
  return primitives().reduce_add_coalesced(by_device, devices[0]);
}

/// Returns the parameters on each device, recorded on the tape.
std::vector<Tensors> broadcast_parameters(const Tensors& parameters,
                                          const Devices& devices) {
  std::vector<Tensors> copies = primitives().broadcast_coalesced(parameters, devices);
  if (!autograd::needs_history(parameters)) return copies;
  Tensors outputs;
  for (Tensors& device_copies : copies) {
    for (Tensor& copy : device_copies) {
      copy = copy.detach();  // device 0's are aliases: same memory, new tape entry
      outputs.push_back(copy);
    }
  }
  // Only the shapes are used: in the backward pass, an unused parameter receives a
  // gradient of zeros with its shape.
  Tensors shapes;
  for (const Tensor& parameter : parameters) shapes.push_back(parameter.detach());
  autograd::set_history("BroadcastBackward", parameters, outputs,
                        tracer::innermost_event(), [=](Tensors grads) {
                          return reduce_to_device_0(std::move(grads), shapes, devices);
                        });
  return copies;
}

/// Returns the buffers on each device, sent per data type; not recorded on the tape.
std::vector<Tensors> broadcast_buffers(const Tensors& buffers, const Devices& devices) {
  std::vector<Tensors> copies(devices.size(), Tensors(buffers.size()));
  for (DType type : {DType::f32, DType::f64, DType::i64}) {
    Tensors members;
    std::vector<size_t> positions;
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i].dtype() != type) continue;
      members.push_back(buffers[i]);
      positions.push_back(i);
    }
    if (members.empty()) continue;
    const auto sent = primitives().broadcast_coalesced(members, devices);
    for (size_t d = 0; d < devices.size(); ++d) {
      for (size_t i = 0; i < positions.size(); ++i) {
        copies[d][positions[i]] = sent[d][i];
      }
    }
  }
  return copies;
}

}  // namespace

std::vector<nn::ModulePtr> replicate(const nn::Module& module, const Devices& devices) {
  std::vector<Tensors> parameters, buffers;
  {
    CategoryScope category(MemoryCategory::parameters);
    parameters = broadcast_parameters(module.parameters(), devices);
  }
  {
    CategoryScope category(MemoryCategory::buffers);
    buffers = broadcast_buffers(module.buffers(), devices);
  }
  std::vector<nn::ModulePtr> replicas;
  for (size_t d = 0; d < devices.size(); ++d) {
    nn::Construction skeleton = nn::construction();
    skeleton.skeleton = true;
    nn::ConstructionScope scope(skeleton);
    nn::ModulePtr replica = module.make_like();
    replica->copy_settings(module);
    const Tensors slots = replica->parameters(), buffer_slots = replica->buffers();
    for (size_t i = 0; i < slots.size(); ++i) {
      Tensor(slots[i]).become(parameters[d][i]);
    }
    for (size_t i = 0; i < buffer_slots.size(); ++i) {
      Tensor(buffer_slots[i]).become(buffers[d][i]);
    }
    replicas.push_back(std::move(replica));
  }
  return replicas;
}

}  // namespace lockstep::parallel
