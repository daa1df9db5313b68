// How ranks that each compute with a copy of the model share its weights, other than by
// DistributedDataParallel, which sums gradients during the backward pass.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/distributed/collectives/process_group.h"
#include "engine/nn/module.h"
#include "engine/optim/adaptive.h"
#include "tracer/record/recorder.h"

namespace lockstep::sharing {

/// What one rank does around its own forward and backward passes. The trainer calls it
/// from the rank's thread, in this order: before_forward, (forward, loss, backward),
/// update. The tensors involved are those of the rank's model, on its device.
class Sharing {
 public:
  virtual ~Sharing() = default;

  /// Called once, when the rank's optimizer has been created with `options`, and before
  /// a checkpoint is loaded into it.
  virtual void attach(optim::Optimizer&, const optim::AnyOptions& options) {
    (void)options;
  }

  /// Called before the forward pass of the first batch of an optimizer step: fetches
  /// the weights.
  virtual void before_forward() {}

  /// Called once per optimizer step, when the model's parameters have their gradients,
  /// in place of `optimizer.step()`, which it may call.
  virtual void update(optim::Optimizer& optimizer) = 0;

  /// Called on all ranks before an evaluation unless they make each step together:
  /// waits for the others. Returns whether to stop: one of them passed `stop`, or makes
  /// no more steps.
  virtual bool meet(bool stop) { return stop; }

  /// Called on all ranks in the first step of an evaluation, which comes before a
  /// checkpoint: gives each rank's model the weights that count as the result.
  virtual void settle() {}

  /// Called when the rank makes no more steps. Others may still make some.
  virtual void leave() {}

  /// Called on rank 0 when no rank makes more steps: gives its model the weights that
  /// count as the result.
  virtual void fetch() {}

  /// Returns the optimizer's state, to be saved with the weights.
  virtual std::vector<nn::Named<Tensor>> optimizer_state(
      const optim::Optimizer& optimizer) const {
    return optimizer.state();
  }

  /// Returns whether all ranks make each step together, so that its metrics are those
  /// of all ranks. Otherwise each rank has its own pace, and its metrics are its own.
  virtual bool in_step() const { return true; }

  /// Called on all ranks after each epoch of training at their own pace: returns
  /// whether `mine` holds on all of them.
  virtual bool agree(bool mine) { return mine; }

  /// Returns what is worth saying after the training; "" if nothing is.
  virtual std::string report() const { return {}; }

  /// Returns the same as numbers with names, for the summary.
  virtual std::vector<nn::Named<double>> totals() const { return {}; }

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
