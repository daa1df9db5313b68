// The messages of a pipeline whose ranks are processes.
#pragma once

#include <memory>

#include "engine/distributed/collectives/process_group.h"
#include "engine/ops/copy.h"

namespace lockstep::parallel {

/// What one rank sends to the stages of other ranks, and receives from them. Messages
/// pass on the comm stream, one after the other, each when both of its ranks have
/// enqueued it. So that ranks never wait for each other in a circle, all of them
/// enqueue their messages in one order: that of the numbers which `begin` counts.
/// PyTorch lowers a schedule to sends and receives in such an order, too
/// (`_add_send_recv` in torch/distributed/pipelining/schedules.py).
class StageLinks {
 public:
  /// `device` is this rank's.
  StageLinks(std::shared_ptr<distributed::ProcessGroup> group, Device device)
      : group_(std::move(group)), device_(device) {}

  int rank() const { return group_->rank(); }
  distributed::ProcessGroup& group() const { return *group_; }

  /// Called by all ranks before the messages of a batch, which has at most `messages`.
  void begin(int64_t messages) { first_ = group_->reserve(messages); }

  /// Enqueues a message after the work that produces `x`. `number` is its place in the
  /// batch, the same for the rank that receives it.
  void send(const Tensor& x, int to, const ops::CopyLabel& label, int64_t number) const;
  /// Enqueues the receipt of a tensor like `plain` into new memory. Work that does not
  /// need the tensor does not wait for it.
  ops::Arriving receive(const TensorSpec& plain, int from, const ops::CopyLabel& label,
                        int64_t number) const;

 private:
  const std::shared_ptr<distributed::ProcessGroup> group_;
  const Device device_;
  int64_t first_ = 0;  ///< number of the batch's first message
};

}  // namespace lockstep::parallel
