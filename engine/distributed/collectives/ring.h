// Ring collectives: each rank sends only to the next rank and receives only from the
// previous one.
#pragma once

#include <memory>

#include "engine/distributed/collectives/communicator.h"
#include "engine/distributed/collectives/transport.h"
#include "engine/runtime/slot.h"

namespace lockstep::distributed {

/// A rank's connection to the ring: exchanges messages with its two neighbours.
class RingLink {
 public:
  virtual ~RingLink() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Sends `out` to the next rank while receiving `in.numel` elements from the previous
  /// rank; adds them to `in` if `adds` is true, otherwise overwrites `in`. Every rank
  /// must make the same number of calls, and each `in` must have the length of the
  /// neighbour's `out`. Throws std::runtime_error naming the rank that disagrees.
  virtual void exchange(Buffer out, Buffer in, bool adds) = 0;
};

/// Replaces `data` with its sum over all ranks. A slot.
using RingAllReduce = void(RingLink& link, Buffer data);
runtime::Slot<RingAllReduce>& ring_all_reduce();

/// All-reduce is reduce-scatter followed by all-gather (Patarasu and Yuan 2009; also
/// the ring of NCCL and Gloo): each rank sends 2(N−1)/N of the tensor in 2(N−1)
/// messages. Each message is a `copy` event in the trace.
class Ring : public Communicator {
 public:
  /// `group`: the name of the process group, for the trace.
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
  /// Sends `out` while receiving `in` (either may be null), as step `step` of the
  /// collective. Combines received data with `in` using `combine`, or overwrites `in`
  /// if `combine` is null.
  void pass(const Message* out, const Message* in, const ReduceOp* combine, int step,
            const Collective& call);
  int next() const { return (rank_ + 1) % size_; }
  int previous() const { return (rank_ + size_ - 1) % size_; }
  /// Returns the number of hops from `root` to this rank.
  int distance(int root) const { return (rank_ - root + size_) % size_; }

  const std::unique_ptr<Transport> transport_;
  const int rank_, size_;
};

}  // namespace lockstep::distributed
