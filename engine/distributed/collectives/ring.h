// Collectives around a ring: each rank sends only to the next one and receives only
// from the one before.
#pragma once

#include <memory>

#include "engine/distributed/collectives/communicator.h"
#include "engine/distributed/collectives/transport.h"
#include "engine/runtime/slot.h"

namespace lockstep::distributed {

/// What a rank in a ring can do: talk to its two neighbours.
class RingLink {
 public:
  virtual ~RingLink() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Sends `out` to the next rank, and receives as many elements as `in` has from the
  /// one before, both at once: they are added to `in` if `adds`, else they replace it.
  /// Every rank of the ring makes as many calls as the others, and each `in` is as long
  /// as the neighbour's `out`. Throws std::runtime_error naming the rank that does not
  /// keep to it.
  virtual void exchange(Buffer out, Buffer in, bool adds) = 0;
};

/// Afterwards all ranks hold the sum of what they held in `data`. A slot.
using RingAllReduce = void(RingLink& link, Buffer data);
runtime::Slot<RingAllReduce>& ring_all_reduce();

/// All-reduce is reduce-scatter followed by all-gather (Patarasu and Yuan 2009; NCCL's
/// and Gloo's ring): in 2(N−1) messages every rank sends 2(N−1)/N of the tensor,
/// however many ranks there are. Each message is a `copy` event of the trace.
class Ring : public Communicator {
 public:
  Ring(std::unique_ptr<Transport> transport, int rank, int size, std::string group);

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
  /// One message out, one in (either may be null), as number `step` of the collective.
  void pass(const Message* out, const Message* in, const ReduceOp* combine, int step,
            const Collective& call);
  int next() const { return (rank_ + 1) % size_; }
  int previous() const { return (rank_ + size_ - 1) % size_; }
  /// How many ranks after `root` this one comes.
  int distance(int root) const { return (rank_ - root + size_) % size_; }

  std::unique_ptr<Transport> transport_;
  const int rank_, size_;
  const char* group_;
  int64_t seq_ = -1;  ///< of the collective that is running
  // For the trace: the events after which our next message is ready, the work that the
  // first one waits for, and when the last one had come.
  std::vector<int64_t> last_;
  std::vector<runtime::EventPtr> waits_;
  int64_t last_ended_ = 0;
};

}  // namespace lockstep::distributed
