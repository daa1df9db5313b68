#include "engine/sharing/hybrid_parts.h"

#include "engine/autograd/node.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/parallel/primitives.h"
#include "tracer/format/keys.h"
#include "tracer/record/recorder.h"

namespace lockstep::sharing {
namespace reasons = tracer::reasons;

Tensor gather_activations(const Tensors& outputs, Device classifier) {
  Shape sizes = outputs[0].sizes();
  sizes[0] = 0;
  for (const Tensor& output : outputs) sizes[0] += output.size(0);
  const Tensor joined = Tensor::empty({sizes, outputs[0].dtype(), nullptr}, classifier);
  std::vector<int64_t> first_rows{0};
  parallel::Devices devices;
  for (const Tensor& output : outputs) {
    const int64_t first = first_rows.back(), rows = output.size(0);
    ops::copy_into(output.detach(), joined.narrowed(first, rows),
                   {reasons::activation, "output"});
    first_rows.push_back(first + rows);
    devices.push_back(output.device());
  }
  autograd::set_history(
      "GatherBackward", outputs, {joined}, tracer::innermost_event(),
      [first_rows, devices](Tensors grads) {
        const Tensor grad = ops::contiguous(grads[0]);
        Tensors pieces;
        for (size_t i = 0; i < devices.size(); ++i) {
          const int64_t first = first_rows[i], rows = first_rows[i + 1] - first;
          pieces.push_back(ops::copy_to(grad.narrowed(first, rows), devices[i],
                                        {reasons::activation_grad, "output"}));
        }
        return pieces;
      });
  return joined;
}

distributed::Work sum_features(const Tensors& gradients, distributed::Bucket& flat,
                               distributed::ProcessGroup& ring) {
  for (size_t i = 0; i < gradients.size(); ++i) flat.pack(i, gradients[i], 1);
  distributed::CollectiveLabel label;
  label.tensor = "gradients of features";
  return ring.all_reduce(flat.flat(), ReduceOp::sum, label);
}

runtime::Slot<decltype(gather_activations)>& hybrid_gather() {
  static runtime::Slot<decltype(gather_activations)> in_use("hybrid_gather",
                                                            gather_activations);
  return in_use;
}

runtime::Slot<decltype(sum_features)>& hybrid_sum() {
  static runtime::Slot<decltype(sum_features)> in_use("hybrid_sum", sum_features);
  return in_use;
}

}  // namespace lockstep::sharing
