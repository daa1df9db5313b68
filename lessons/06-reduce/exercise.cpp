// Lesson 06: reduce. Sum the replicas' gradients into the model on device 0.
#include "engine/ops/copy.h"
#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"
#include "engine/parallel/primitives.h"
#include "engine/runtime/device_context.h"
#include "lessons/plugin.h"

using namespace lockstep;

constexpr int64_t kLimit = 10 * 1024 * 1024;  // bytes of a group

/// Given. Packs `count` tensors from `first` on, one after the other, into a new flat
/// tensor on their device, with one kernel.
Tensor pack(const Tensors& tensors, size_t first, size_t count) {
  Tensors members;
  int64_t numel = 0;
  for (size_t i = first; i < first + count; ++i) {
    members.push_back(ops::contiguous(tensors[i]));
    numel += tensors[i].numel();
  }
  return ops::compute_one(OpCode::flatten_many, members, {numel});
}

/// Given. Appends to `out` the parts of `flat`, with the shapes of `count` tensors of
/// `like` from `first` on, as views: nothing is copied.
void unpack(const Tensor& flat, const Tensors& like, size_t first, size_t count,
            Tensors& out) {
  int64_t start = 0;
  for (size_t i = first; i < first + count; ++i) {
    out.push_back(flat.narrowed(start, like[i].numel()).reshaped(like[i].sizes()));
    start += like[i].numel();
  }
}

/// Divides tensors of these sizes (in bytes), in order, into groups that are sent
/// together. Returns how many tensors each group holds. A tensor joins the open group
/// unless that would exceed `limit`; then it begins a new one. So only a tensor that is
/// too large by itself forms a group above the limit, and it is alone in that group.
std::vector<size_t> group_sizes(const std::vector<int64_t>& bytes, int64_t limit) {
  // [solution-groups]
  std::vector<size_t> groups;
  int64_t open = 0;
  for (int64_t size : bytes) {
    if (groups.empty() || open + size > limit) {
      groups.push_back(0);
      open = 0;
    }
    ++groups.back();
    open += size;
  }
  return groups;
  // [/solution-groups]
  lessons::not_written("group_sizes: which tensors travel together?");
}

/// Delays what device `to` receives until every replica has computed its last gradient.
/// When your code is called, backward has been *enqueued* everywhere, but the devices
/// are still working, and the host must not wait for them.
/// `runtime::context(device).compute().record_event()` marks the point when a device
/// will have finished everything enqueued so far; a stream's `.wait(event)` delays its
/// next work until then. A device receives on its `.copy()` stream.
void wait_for_replicas(const std::vector<Tensors>& gradients, Device to) {
  // [solution-wait]
  for (const Tensors& replica : gradients) {
    const Device device = replica[0].device();
    runtime::context(to).copy().wait(runtime::context(device).compute().record_event());
  }
  return;
  // [/solution-wait]
  lessons::not_written("wait_for_replicas: what must finish before a gradient moves?");
}

/// gradients[d][i] is replica d's gradient of parameter i, on that replica's device;
/// replica 0's are on `to`. Returns, for each parameter, its new `.grad`: one tensor on
/// `to`. `ops::copy_to(tensor, to, {"reduce", "group"})` sends a tensor to another
/// device; `ops::add_(a, b)` adds b to a in place, on the device where both are.
Tensors reduce(const std::vector<Tensors>& gradients, Device to) {
  // [solution-reduce]
  wait_for_replicas(gradients, to);
  std::vector<int64_t> bytes;
  for (const Tensor& gradient : gradients[0]) bytes.push_back(gradient.nbytes());
  Tensors sums;
  size_t first = 0;
  for (size_t count : group_sizes(bytes, kLimit)) {
    Tensor total = pack(gradients[0], first, count);
    for (size_t d = 1; d < gradients.size(); ++d) {
      const Tensor flat = pack(gradients[d], first, count);
      ops::add_(total, ops::copy_to(flat, to, {"reduce", "group"}));
    }
    unpack(total, gradients[0], first, count, sums);
    first += count;
  }
  return sums;
  // [/solution-reduce]
  lessons::not_written("reduce: what becomes of k gradients of one parameter?");
}

/// The check finds your function through this; do not change it.
extern "C" void lesson_group_sizes(const std::vector<int64_t>& bytes, int64_t limit,
                                   std::vector<size_t>& groups) {
  groups = group_sizes(bytes, limit);
}

LOCKSTEP_LESSON(6) { parallel::primitives().reduce_add_coalesced.plug(reduce); }
