// How ranks that each compute with a copy of the model share its weights, other than by
// DistributedDataParallel, which sums gradients during the backward pass.
#pragma once

#include <functional>
#include <memory>

#include "engine/distributed/collectives/process_group.h"
#include "engine/nn/module.h"
#include "engine/optim/optimizer.h"
#include "tracer/record/recorder.h"

namespace lockstep::sharing {

/// What one rank does around its own forward and backward passes. The trainer calls it
/// from the rank's thread, in this order: before_forward, (forward, loss, backward),
/// update. The tensors involved are those of the rank's model, on its device.
class Sharing {
 public:
  virtual ~Sharing() = default;

  /// Called before the forward pass of the first batch of an optimizer step: fetches
  /// the weights.
  virtual void before_forward() {}

  /// Called once per optimizer step, when the model's parameters have their gradients,
  /// in place of `optimizer.step()`, which it may call.
  virtual void update(optim::Optimizer& optimizer) = 0;

  /// Called on all ranks before an evaluation and before a checkpoint: gives each
  /// rank's model the weights that count as the result.
  virtual void settle() {}

  /// Returns whether all ranks make each step together, so that its metrics are those
  /// of all ranks. Otherwise each rank has its own pace, and its metrics are its own.
  virtual bool in_step() const { return true; }

  /// Return and set the number of optimizer steps made, if the next one depends on it.
  /// A checkpoint stores it.
  virtual int64_t steps_done() const { return 0; }
  virtual void set_steps_done(int64_t) {}

  /// Adds facts to the event of the step that has just been made.
  virtual void describe(tracer::HostEvent&) const {}
};

/// Creates the rank's object. `model` outlives it.
using MakeSharing = std::function<std::unique_ptr<Sharing>(nn::Module& model)>;

}  // namespace lockstep::sharing
