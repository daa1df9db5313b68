// How DistributedDataParallel synchronises gradients: a *slot* (engine/runtime/slot.h)
// with three implementations, from the simplest to PyTorch's. Learners can plug in
// their own.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/distributed/collectives/process_group.h"
#include "engine/nn/module.h"
#include "engine/plan/buckets.h"
#include "engine/runtime/slot.h"

namespace lockstep::distributed {

/// Replaces each rank's gradients with their mean. One object per rank and model.
class GradientSync {
 public:
  virtual ~GradientSync() = default;

  /// Called before a forward pass with gradients enabled, whether synchronised or not.
  virtual void before_forward() {}
  /// Called after a synchronised forward pass has returned `output`, before backward.
  virtual void before_backward(const Tensor& output) { (void)output; }
  /// Called when the gradient of parameter `parameter` is available in `.grad()`, on
  /// the autograd thread during the backward pass.
  virtual void gradient_ready(size_t parameter) = 0;
  /// Called when backward ends on the host. Must make gradients final in stream order.
  virtual void after_backward() = 0;

  /// Participates in a step without a batch, for the sake of ranks that still have one:
  /// makes all collective calls of `gradient_ready` and `after_backward`, with zeros.
  virtual void shadow_step() = 0;
  /// Sets the divisor for gradients; the default is the world size.
  virtual void set_divisor(int divisor) = 0;

  /// Returns the order in which gradients became ready if later steps depend on it,
  /// else an empty list. Saved in checkpoints: the order determines which gradients
  /// share a bucket, and therefore the order of floating-point additions.
  virtual std::vector<size_t> ready_order() const { return {}; }
  /// Continues as if `order` had been observed. All ranks must pass the same order.
  virtual void set_ready_order(const std::vector<size_t>& order) { (void)order; }
};

using Parameters = std::vector<nn::Named<Tensor>>;

/// A bucket, as passed to a comm hook (torch.distributed.GradBucket).
struct GradBucket {
  size_t index = 0;
  Tensor buffer;  ///< flat: all gradients of the bucket, concatenated
  CollectiveLabel label;
};

/// Replaces the all-reduce of a bucket. Must also divide by the world size.
using CommHook = std::function<Work(ProcessGroup&, GradBucket&)>;

struct ReducerOptions {
  int64_t bucket_cap = plan::kBucketCap;  ///< bytes
  plan::BucketRule rule = plan::BucketRule::current;
  bool find_unused_parameters = false;
  bool gradient_as_bucket_view = false;
  CommHook comm_hook;
};

using GradientSyncFactory = std::unique_ptr<GradientSync>(Parameters, ProcessGroup&,
                                                          const ReducerOptions&);

/// Returns PyTorch's reducer: buckets, all-reduced while backward runs (reducer.h).
std::unique_ptr<GradientSync> make_reducer(Parameters, ProcessGroup&,
                                           const ReducerOptions&);
/// Returns the simplest sync: an all-reduce per gradient, after backward.
std::unique_ptr<GradientSync> make_naive_sync(Parameters, ProcessGroup&,
                                              const ReducerOptions&);
/// Returns one with an all-reduce per bucket, after backward: few large messages, no
/// overlap (simple_sync.cpp).
std::unique_ptr<GradientSync> make_bucketed_sync(Parameters, ProcessGroup&,
                                                 const ReducerOptions&);

/// Returns the current factory. All hook calls to a learner's object are recorded.
runtime::Slot<GradientSyncFactory>& gradient_sync_factory();
std::unique_ptr<GradientSync> make_gradient_sync(Parameters, ProcessGroup&,
                                                 const ReducerOptions&);

}  // namespace lockstep::distributed
