// Lesson 15: replicate. Put the model on every device, and bring its gradients back.
#include "engine/autograd/node.h"
#include "engine/ops/copy.h"
#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"
#include "engine/parallel/primitives.h"
#include "engine/plan/coalesce.h"
#include "lessons/plugin.h"
#include "tracer/record/recorder.h"

using namespace lockstep;

/// Given. Packs tensors of one type on one device, one after the other, into a new flat
/// tensor there, with one kernel.
Tensor pack(const Tensors& tensors) {
  const CategoryScope category(MemoryCategory::buckets);
  Tensors members;
  int64_t numel = 0;
  for (const Tensor& tensor : tensors) {
    members.push_back(ops::contiguous(tensor).detach());
    numel += tensor.numel();
  }
  return ops::compute_one(OpCode::flatten_many, members, {numel});
}

/// Given. Returns the parts of `flat` with the shapes of `like`, as views.
Tensors unpack(const Tensor& flat, const Tensors& like) {
  Tensors parts;
  int64_t start = 0;
  for (const Tensor& tensor : like) {
    parts.push_back(flat.narrowed(start, tensor.numel()).reshaped(tensor.sizes()));
    start += tensor.numel();
  }
  return parts;
}

/// Copies tensors of one type, which are on devices[0], to all devices. Returns
/// result[d][i], tensor i on devices[d]; result[0] are the tensors themselves.
///
/// They travel in groups. `plan::coalesce_broadcast(bytes)`, with the size of each
/// tensor in bytes (`.nbytes()`), returns the groups: each is a list of indices i. A
/// group is packed once, sent to each other device in one message (`ops::copy_to(flat,
/// device, {"replicate", "group"})`), and unpacked there.
std::vector<Tensors> broadcast(const Tensors& tensors,
                               const parallel::Devices& devices) {
  // [solution-broadcast]
  std::vector<int64_t> bytes;
  for (const Tensor& tensor : tensors) bytes.push_back(tensor.nbytes());
  std::vector<Tensors> result(devices.size());
  result[0] = tensors;
  for (const plan::Group& group : plan::coalesce_broadcast(bytes)) {
    Tensors members;
    for (size_t i : group) members.push_back(tensors[i]);
    const Tensor flat = pack(members);
    for (size_t d = 1; d < devices.size(); ++d) {
      const Tensor arrived = ops::copy_to(flat, devices[d], {"replicate", "group"});
      for (const Tensor& part : unpack(arrived, members)) result[d].push_back(part);
    }
  }
  return result;
  // [/solution-broadcast]
  lessons::not_written("broadcast: the same tensors on every device");
}

/// Given. `broadcast`, for memory that the viewer shows as parameters.
std::vector<Tensors> send_parameters(const Tensors& parameters,
                                     const parallel::Devices& devices) {
  const CategoryScope category(MemoryCategory::parameters);
  return broadcast(parameters, devices);
}

/// Given. `broadcast` for buffers, once for each type: batch norm has floating-point
/// statistics and integer counters.
std::vector<Tensors> send_buffers(const Tensors& buffers,
                                  const parallel::Devices& devices) {
  const CategoryScope category(MemoryCategory::buffers);
  std::vector<Tensors> result(devices.size(), Tensors(buffers.size()));
  for (const DType type : {DType::f32, DType::f64, DType::i64}) {
    Tensors members;
    std::vector<size_t> places;
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i].dtype() != type) continue;
      members.push_back(buffers[i]);
      places.push_back(i);
    }
    if (members.empty()) continue;
    const std::vector<Tensors> sent = broadcast(members, devices);
    for (size_t d = 0; d < devices.size(); ++d) {
      for (size_t i = 0; i < places.size(); ++i) result[d][places[i]] = sent[d][i];
    }
  }
  return result;
}

/// Given. Returns a module with the structure, mode and hooks of `module`, whose
/// parameters and buffers are these tensors, in the order of `module.parameters()` and
/// `module.buffers()`.
nn::ModulePtr assemble(const nn::Module& module, const Tensors& parameters,
                       const Tensors& buffers) {
  nn::Construction options = nn::construction();
  options.skeleton = true;  // allocates nothing
  const nn::ConstructionScope scope(options);
  nn::ModulePtr replica = module.make_like();
  replica->copy_settings(module);
  const Tensors own = replica->parameters(), own_buffers = replica->buffers();
  for (size_t i = 0; i < own.size(); ++i) Tensor(own[i]).become(parameters[i]);
  for (size_t i = 0; i < own_buffers.size(); ++i) {
    Tensor(own_buffers[i]).become(buffers[i]);
  }
  return replica;
}

/// Given. Returns, for each parameter, the sum of gradients[d][i] over all devices d,
/// on device `to`: the function of lesson 06.
Tensors reduce(const std::vector<Tensors>& gradients, Device to) {
  const tracer::Phase phase("reduce");
  return parallel::primitives().reduce_add_coalesced(gradients, to);
}

/// Given. Returns the gradient, or zeros if it is undefined: nobody used the parameter.
Tensor or_zeros(const Tensor& gradient, const Shape& sizes, DType dtype,
                Device device) {
  if (gradient.defined()) return gradient;
  return ops::full_like(Tensor::empty({sizes, dtype, nullptr}, device), 0);
}

/// Returns a replica of `module`, which is on devices[0], for each device.
///
/// Parameters (`send_parameters`): what arrives is not on the tape. Take `.detach()` of
/// each copy, also of those on devices[0]: the same memory as a tensor of its own. Then
/// `autograd::set_history("BroadcastBackward", parameters, outputs,
/// tracer::innermost_event(), formula)`, where `outputs` are all of these tensors,
/// those of devices[0] first. `formula` receives a gradient for each of them, in this
/// order, and returns one for each parameter of `module`, on devices[0] (see `or_zeros`
/// and `reduce`).
/// It runs later, and captures by value what it needs: devices and shapes, not
/// parameters.
///
/// Buffers (`send_buffers`) are never on the tape. Those of devices[0] are the module's
/// own, so that what replica 0 writes into them stays.
std::vector<nn::ModulePtr> replicate(const nn::Module& module,
                                     const parallel::Devices& devices) {
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
  return replicas;
  // [/solution-replicate]
  lessons::not_written("replicate: one model, on every device");
}

/// The check finds your function through this; do not change it.
extern "C" void lesson_broadcast(const Tensors& tensors,
                                 const parallel::Devices& devices,
                                 std::vector<Tensors>& result) {
  result = broadcast(tensors, devices);
}

LOCKSTEP_LESSON(15) { parallel::primitives().replicate.plug(replicate); }
