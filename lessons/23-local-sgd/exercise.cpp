// Lesson 23: local SGD. When do ranks average, and what?
#include <cstddef>
#include <cstdint>

#include "engine/sharing/local_access.h"
#include "lessons/plugin.h"

using namespace lockstep;
using sharing::LocalSgdOptions;  // period, warmup_steps

/// A rank's step number `step`, counted from 0, when its gradients are there.
/// `rank.optimizer_step()` makes the optimizer's step with them, in every step, also in
/// the warm-up. `rank.average()` averages with the other ranks, by the function below.
/// After how many steps that is due follows from `step` alone, so that all ranks agree,
/// and so that a resumed run goes on where it was: the first average comes right after
/// the first step that follows `options.warmup_steps` others, and from then on there is
/// one every `options.period` steps.
void local_step(sharing::LocalAccess& rank, const LocalSgdOptions& options,
                int64_t step) {
  // [solution-step]
  rank.optimizer_step();
  const int64_t since = step - options.warmup_steps;
  if (since >= 0 && since % options.period == 0) rank.average();
  return;
  // [/solution-step]
  lessons::not_written("local_step: is an average due, and before or after the step?");
}

/// The all-reduce's name in traces; pass it along. (Do not change this function.)
distributed::CollectiveLabel label() {
  distributed::CollectiveLabel label;
  label.why = "average";
  label.tensor = "parameters";
  return label;
}

/// Replaces this rank's parameters by their mean over all ranks of the group, with one
/// all-reduce. `state.parameters[i].value` is parameter i. There are also
/// `state.buffers` and `state.optimizer` (its momentum), in case they have to be
/// averaged. `flat` is one tensor with a place for each parameter:
///   flat.pack(i, tensor, factor)    writes factor times the tensor to place i
///   flat.unpack(i, tensor)          copies place i into the tensor
///   group.all_reduce(flat.flat(), ReduceOp::sum, label())
///                                   replaces `flat` by its sum over all ranks, and
///                                   returns at once. What is enqueued after
///                                   `.wait()` on its result sees the sum
void average(const sharing::LocalState& state, distributed::Bucket& flat,
             distributed::ProcessGroup& group) {
  // [solution-average]
  const double share = 1.0 / group.size();
  for (size_t i = 0; i < state.parameters.size(); ++i) {
    flat.pack(i, state.parameters[i].value, share);
  }
  group.all_reduce(flat.flat(), ReduceOp::sum, label()).wait();
  for (size_t i = 0; i < state.parameters.size(); ++i) {
    flat.unpack(i, state.parameters[i].value);
  }
  return;
  // [/solution-average]
  lessons::not_written("average: pack, all-reduce, unpack. Which tensors?");
}

/// Returns how many bytes leave one of `ranks` ranks in the steps 0 to `steps` − 1, for
/// parameters of `bytes` bytes, if all-reduces go around in a ring. `ranks`
/// divides `bytes`.
int64_t bytes_sent(int64_t steps, const LocalSgdOptions& options, int ranks,
                   int64_t bytes) {
  // [solution-bytes]
  const int64_t after = steps - options.warmup_steps;
  if (after <= 0) return 0;
  const int64_t averages = (after + options.period - 1) / options.period;
  return averages * 2 * (ranks - 1) * (bytes / ranks);
  // [/solution-bytes]
  lessons::not_written(
      "bytes_sent: how many averages are there, and what does one send?");
}

// The tests find your code through this function; do not change it.
extern "C" int64_t lesson_bytes_sent(int64_t steps, int64_t period,
                                     int64_t warmup_steps, int ranks, int64_t bytes) {
  return bytes_sent(steps, {period, warmup_steps}, ranks, bytes);
}

LOCKSTEP_LESSON(23) {
  sharing::local_step().plug(local_step);
  sharing::local_average().plug(average);
}
