// Sends many small tensors as a few large ones.
// Source: torch/csrc/cuda/comm.cpp, torch/nn/parallel/comm.py.
#include "engine/ops/copy.h"
#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"
#include "engine/parallel/device_group.h"
#include "engine/plan/coalesce.h"
#include "engine/runtime/device_context.h"

namespace lockstep::parallel {
namespace {

std::vector<int64_t> sizes_in_bytes(const Tensors& tensors) {
  std::vector<int64_t> bytes;
  for (const Tensor& tensor : tensors) bytes.push_back(tensor.nbytes());
  return bytes;
}

/// Concatenates the tensors of a group in newly allocated memory.
Tensor flatten(const Tensors& tensors, const plan::Group& group) {
  Tensors members;
  int64_t numel = 0;
  for (size_t i : group) {
    members.push_back(ops::contiguous(tensors[i]).detach());
    numel += tensors[i].numel();
  }
  return ops::compute_one(OpCode::flatten_many, members, {numel});
}

/// Sets `out` to views into `flat` with the shapes of the group's tensors.
void unflatten(const Tensor& flat, const Tensors& like, const plan::Group& group,
               Tensors& out) {
  int64_t start = 0;
  for (size_t i : group) {
    out[i] = flat.narrowed(start, like[i].numel()).reshaped(like[i].sizes());
    start += like[i].numel();
  }
}

/// Copies `flat` from device 0 to every device: with a library if one is available
/// (device_group.h), otherwise with one copy per device.
Tensors send_to_all(const Tensor& flat, const Devices& devices) {
  if (DeviceGroup* group = device_group(devices)) {
    return broadcast(*group, flat, devices);
  }
  Tensors arrived{flat};
  for (size_t d = 1; d < devices.size(); ++d) {
    arrived.push_back(ops::copy_to(flat, devices[d], {"replicate", "group"}));
  }
  return arrived;
}

/// Adds the other devices' tensors to flats[0], by the same means as send_to_all.
void sum_all(Tensors flats) {
  Devices devices;
  for (const Tensor& flat : flats) devices.push_back(flat.device());
  if (DeviceGroup* group = device_group(devices)) return reduce(*group, flats);
  for (size_t d = 1; d < flats.size(); ++d) {
    ops::add_(flats[0], ops::copy_to(flats[d], devices[0], {"reduce", "group"}));
    flats[d] = {};
  }
}

/// Keeps `to` from receiving until every replica has computed its gradients, like
/// NCCL's reduce: a collective starts when its last participant is ready.
void wait_for_all_replicas(const std::vector<Tensors>& gradients, Device to) {
  runtime::Stream& receiving = runtime::context(to).copy();
  for (const Tensors& replica : gradients) {
    receiving.wait(runtime::context(replica[0].device()).compute().record_event());
  }
}

}  // namespace

std::vector<Tensors> broadcast_coalesced(const Tensors& tensors,
                                         const Devices& devices) {
  std::vector<Tensors> copies(devices.size(), Tensors(tensors.size()));
  copies[0] = tensors;
  for (const plan::Group& group : plan::coalesce_broadcast(sizes_in_bytes(tensors))) {
    Tensor flat;
    {
      CategoryScope category(MemoryCategory::buckets);
      flat = flatten(tensors, group);
    }
    const Tensors arrived = send_to_all(flat, devices);
    for (size_t d = 1; d < devices.size(); ++d) {
      unflatten(arrived[d], tensors, group, copies[d]);
    }
  }
  return copies;
}

Tensors reduce_add_coalesced(const std::vector<Tensors>& gradients, Device to) {
  wait_for_all_replicas(gradients, to);
  Tensors sums(gradients[0].size());
  const auto groups = plan::coalesce_reduce(sizes_in_bytes(gradients[0]));
  for (const plan::Group& group : groups) {
    const Tensor total = flatten(gradients[0], group);
    CategoryScope category(MemoryCategory::buckets);
    Tensors flats{total};
    for (size_t d = 1; d < gradients.size(); ++d) {
      flats.push_back(flatten(gradients[d], group));
    }
    sum_all(std::move(flats));
    unflatten(total, gradients[0], group, sums);
  }
  return sums;
}

}  // namespace lockstep::parallel
