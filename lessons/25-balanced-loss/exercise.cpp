// Lesson 25: a balanced loss. Each device computes the loss of its own chunk, and
// scalars travel instead of outputs.
#include <cstdint>

#include "engine/autograd/node.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/parallel/model_and_criterion.h"
#include "lessons/plugin.h"

using namespace lockstep;

/// The criterion of each chunk. `criteria[i]` holds the labels of chunk i, on the
/// device of outputs[i]. `(*criteria[i])(outputs[i])` is the mean loss of chunk i's
/// images: a scalar on that device.
using Criteria = std::vector<nn::ModulePtr>;

/// Returns the sum of scalars, each of which is on a device of its own, on the device
/// of the first. They stay as they are. `ops::copy_to(loss.detach(), device, {"loss",
/// "loss"})` sends a scalar (and returns it if it is already there), and `ops::add(a,
/// b)` adds.
///
/// Copies are not on the tape. `autograd::set_history("ReduceBackward", losses, {sum},
/// tracer::innermost_event(), formula)` says how gradients get from `sum`, made from
/// detached tensors, back to the losses: `formula` is a lambda that receives a list
/// with one tensor, the gradient of `sum`, and returns the gradient of each loss, on
/// that loss's device (`ops::copy_to(gradient, device, {"loss_grad", "loss"})`). It
/// runs later: capture by value.
Tensor reduce(const Tensors& losses) {
  // [solution-reduce]
  Tensor sum = losses[0].detach();
  for (size_t i = 1; i < losses.size(); ++i) {
    const Tensor arrived =
        ops::copy_to(losses[i].detach(), sum.device(), {"loss", "loss"});
    sum = ops::add(sum, arrived);
  }
  parallel::Devices devices;
  for (const Tensor& loss : losses) devices.push_back(loss.device());
  autograd::set_history(
      "ReduceBackward", losses, {sum}, tracer::innermost_event(),
      [devices](Tensors grads) {
        Tensors each;
        for (const Device device : devices) {
          each.push_back(ops::copy_to(grads[0], device, {"loss_grad", "loss"}));
        }
        return each;
      });
  return sum;
  // [/solution-reduce]
  lessons::not_written("reduce: add the scalars, and say how gradients get back");
}

/// DataParallelCriterion. Returns the mean of the chunks' mean losses, on the device of
/// outputs[0]. There are as many chunks as outputs; a small batch has fewer than there
/// are devices. `parallel::parallel_apply(criteria, outputs)` runs all criteria, each
/// in a host thread of its own, as it must be here and in `whole_mean`, and returns
/// their losses. `ops::scale(tensor, factor)` multiplies, also on the tape.
Tensor criterion(const Criteria& criteria, const Tensors& outputs) {
  // [solution-criterion]
  const Tensors losses = parallel::parallel_apply(criteria, outputs);
  return ops::scale(reduce(losses), 1.0 / static_cast<double>(losses.size()));
  // [/solution-criterion]
  lessons::not_written("criterion: a loss for each chunk, and their mean");
}

/// DataParallel's loss, from the same criteria: the mean over all images, in which
/// each image counts as much as any other. `outputs[i].size(0)` is the number of
/// images in chunk i. Nothing larger than a scalar travels.
Tensor whole_mean(const Criteria& criteria, const Tensors& outputs) {
  // [solution-whole]
  int64_t batch = 0;
  for (const Tensor& output : outputs) batch += output.size(0);
  Tensors shares = parallel::parallel_apply(criteria, outputs);
  for (size_t i = 0; i < shares.size(); ++i) {
    const auto images = static_cast<double>(outputs[i].size(0));
    shares[i] = ops::scale(shares[i], images / static_cast<double>(batch));
  }
  return reduce(shares);
  // [/solution-whole]
  lessons::not_written("whole_mean: how much has each chunk's mean to count?");
}

/// Returns how much image `image` (from 0) of a batch counts in `criterion`'s loss:
/// the factor of its own loss. DataParallel cuts `batch` images into chunks of
/// ceil(batch / devices) images, of which the last may be smaller; there may be fewer
/// chunks than devices (lesson 05).
double weight(int64_t image, int64_t batch, int64_t devices) {
  // [solution-weight]
  const int64_t size = (batch + devices - 1) / devices;
  const int64_t chunks = (batch + size - 1) / size;
  const int64_t first = image / size * size;
  const int64_t own = first + size <= batch ? size : batch - first;
  return 1.0 / static_cast<double>(chunks * own);
  // [/solution-weight]
  lessons::not_written("weight: how many chunks, and how many images in its own?");
}

// The check finds your functions through these; do not change them.
extern "C" void lesson_reduce(const Tensors& losses, Tensor& sum) {
  sum = reduce(losses);
}
extern "C" void lesson_whole_mean(const Criteria& criteria, const Tensors& outputs,
                                  Tensor& loss) {
  loss = whole_mean(criteria, outputs);
}
extern "C" double lesson_weight(int64_t image, int64_t batch, int64_t devices) {
  return weight(image, batch, devices);
}

LOCKSTEP_LESSON(25) { parallel::chunk_criterion().plug(criterion); }
