// How the ranks of a pipeline reach each other's stages, if they are processes.
#pragma once

#include "engine/ops/copy.h"

namespace lockstep::parallel {

/// What one rank sends to the stages of other ranks, and receives from them. Messages
/// pass one after the other, each when both of its ranks have enqueued it. So that
/// ranks never wait for each other in a circle, all of them enqueue their messages in
/// one order: that of the numbers. PyTorch lowers a schedule to sends and receives in
/// such an order, too (`_add_send_recv` in torch/distributed/pipelining/schedules.py).
/// Implemented by sharing::StageMessages. May be used by one thread of the rank.
class StageLinks {
 public:
  virtual ~StageLinks() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  /// Called by all ranks before the messages of a batch, which has at most `messages`.
  virtual void begin(int64_t messages) = 0;

  /// Enqueues a message after the work that produces `x`. `number` is its place in the
  /// batch, the same for the rank that receives it.
  virtual void send(const Tensor& x, int to, const ops::CopyLabel& label,
                    int64_t number) = 0;
  /// Enqueues the receipt of a tensor like `plain` into new memory. Work that does not
  /// need the tensor does not wait for it.
  virtual ops::Arriving receive(const TensorSpec& plain, int from,
                                const ops::CopyLabel& label, int64_t number) = 0;
};

}  // namespace lockstep::parallel
