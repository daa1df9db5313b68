// A rank's step in local SGD, and its average with the other ranks, as slots.
#pragma once

#include "engine/distributed/ddp/bucket.h"
#include "engine/runtime/slot.h"

namespace lockstep::sharing {

struct LocalSgdOptions {
  int64_t period = 4;        ///< optimizer steps from one average to the next
  int64_t warmup_steps = 0;  ///< number of steps before the first average is due
};

/// What a rank may do in one step. Must be used by the rank's thread only.
class LocalAccess {
 public:
  virtual ~LocalAccess() = default;

  /// Makes the optimizer's step with this rank's own gradients.
  virtual void optimizer_step() = 0;
  /// Averages with the other ranks, by average_with_others().
  virtual void average() = 0;
};

/// What a rank has, on its device. Tensors that share memory with the model and with
/// its optimizer.
struct LocalState {
  distributed::Parameters parameters;
  distributed::Parameters buffers;    ///< running statistics of batch norms
  distributed::Parameters optimizer;  ///< `momentum_buffer.conv1.weight`, if any
};

/// The rank's step number `step`, counted from 0, when its gradients are there.
void make_local_step(LocalAccess& rank, const LocalSgdOptions& options, int64_t step);
/// Averages what has to be averaged. `flat` has a place for each parameter.
void average_with_others(const LocalState& state, distributed::Bucket& flat,
                         distributed::ProcessGroup& group);

/// The functions that ranks call, in slots (runtime/slot.h).
runtime::Slot<decltype(make_local_step)>& local_step();
runtime::Slot<decltype(average_with_others)>& local_average();

}  // namespace lockstep::sharing
