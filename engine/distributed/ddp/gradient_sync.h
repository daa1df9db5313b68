// What DistributedDataParallel does with gradients: a *slot* (engine/runtime/slot.h).
// There are three, from the simplest to PyTorch's; a learner's own can replace them.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/distributed/collectives/process_group.h"
#include "engine/nn/module.h"
#include "engine/plan/buckets.h"
#include "engine/runtime/slot.h"

namespace lockstep::distributed {

/// Makes the ranks' gradients equal: their mean. One object per rank and model.
class GradientSync {
 public:
  virtual ~GradientSync() = default;

  /// A forward pass begins whose gradients count, synchronised or not.
  virtual void before_forward() {}
  /// It has ended with `output`; its backward pass comes next.
  virtual void before_backward(const Tensor& output) { (void)output; }
  /// Parameter number `parameter` has its gradient (in `.grad()`). Called in the middle
  /// of the backward pass, on the autograd thread.
  virtual void gradient_ready(size_t parameter) = 0;
  /// The backward pass is over on the host; gradients must be final in stream order.
  virtual void after_backward() = 0;

  /// Takes part in a step without a batch of its own, for ranks that still have one:
  /// all calls that `gradient_ready` and `after_backward` would make, with zeros.
  virtual void shadow_step() = 0;
  /// By how much gradients are divided; the world size unless said.
  virtual void set_divisor(int divisor) = 0;

  /// The order in which gradients became ready, if that shapes later steps, else
  /// nothing. What a checkpoint keeps: the order decides which gradients share a
  /// bucket, and so the order in which floats are added.
  virtual std::vector<size_t> ready_order() const { return {}; }
  /// Continues as if `order` had been observed. Must be the same on all ranks.
  virtual void set_ready_order(const std::vector<size_t>& order) { (void)order; }
};

using Parameters = std::vector<nn::Named<Tensor>>;

/// A bucket, for a comm hook (torch.distributed.GradBucket).
struct GradBucket {
  size_t index = 0;
  Tensor buffer;  ///< flat; all gradients of the bucket, one after the other
  CollectiveLabel label;
};

/// Replaces the all-reduce of a bucket, and owns the division by the world size.
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

/// PyTorch's reducer: buckets, all-reduced while backward still runs (reducer.h).
std::unique_ptr<GradientSync> make_reducer(Parameters, ProcessGroup&,
                                           const ReducerOptions&);
/// The simplest: after backward, an all-reduce for each gradient (simple_sync.cpp).
std::unique_ptr<GradientSync> make_naive_sync(Parameters, ProcessGroup&,
                                              const ReducerOptions&);
/// After backward, an all-reduce for each bucket: few large messages, no overlap.
std::unique_ptr<GradientSync> make_bucketed_sync(Parameters, ProcessGroup&,
                                                 const ReducerOptions&);

/// The factory in use. Every call of an object made by a learner's is recorded.
runtime::Slot<GradientSyncFactory>& gradient_sync_factory();
std::unique_ptr<GradientSync> make_gradient_sync(Parameters, ProcessGroup&,
                                                 const ReducerOptions&);

}  // namespace lockstep::distributed
