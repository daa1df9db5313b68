// Collectives around a ring: each rank sends only to the next one and receives only
// from the previous one.
#pragma once

#include <memory>

#include "engine/distributed/collectives/communicator.h"
#include "engine/distributed/collectives/transport.h"
#include "engine/runtime/slot.h"

namespace lockstep::distributed {

/// What a rank in a ring can do: exchange messages with its two neighbours.
class RingLink {
 public:
  virtual ~RingLink() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Sends `out` to the next rank while receiving `in.numel` elements from the previous
  /// one. They are added to `in` if `adds`, else they replace it. Every rank must make
  /// the same number of calls, and each `in` must be as long as the neighbour's `out`.
  /// Throws std::runtime_error that names the rank that differs.
  virtual void exchange(Buffer out, Buffer in, bool adds) = 0;
};

/// Replaces `data` by its sum over all ranks. A slot.
using RingAllReduce = void(RingLink& link, Buffer data);
runtime::Slot<RingAllReduce>& ring_all_reduce();

/// All-reduce is reduce-scatter followed by all-gather (Patarasu and Yuan 2009; NCCL's
/// and Gloo's ring): in 2(N−1) messages every rank sends 2(N−1)/N of the tensor,
/// however many ranks there are. Each message is a `copy` event of the trace.
class Ring : public Communicator {
 public:
  /// `group`: the name of the ranks' group, in the trace.
  Ring(std::unique_ptr<Transport> transport, int rank, int size,
       const std::string& group);

  const char* algorithm() const override { return "ring"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void all_reduce(Buffer data, ReduceOp op, const Collective& call) override;
  void broadcast(Buffer data, int root, const Collective& call) override;
  void reduce(Buffer data, int root, ReduceOp op, const Collective& call) override;
  void all_gather(Buffer in, Buffer out, const Collective& call) override;
  void reduce_scatter(Buffer in, Buffer out, ReduceOp op,
                      const Collective& call) override;
  void send(Buffer data, int to, const Collective& call) override;
  void recv(Buffer data, int from, const Collective& call) override;
  void abort(const std::string& why) override { transport_->abort(why); }

 private:
  class Link;
  struct Message {
    int peer;
    Buffer data;
  };
  /// Sends `out` while receiving `in` (either may be null), as step number `step` of
  /// the collective. Received data is combined with `in` by `combine`, or replaces it
  /// if `combine` is null.
  void pass(const Message* out, const Message* in, const ReduceOp* combine, int step,
            const Collective& call);
  int next() const { return (rank_ + 1) % size_; }
  int previous() const { return (rank_ + size_ - 1) % size_; }
  /// Returns the number of ranks from `root` to this one.
  int distance(int root) const { return (rank_ - root + size_) % size_; }

  const std::unique_ptr<Transport> transport_;
  const int rank_, size_;
};

}  // namespace lockstep::distributed
