#include "engine/distributed/collectives/ring.h"

#include <optional>
#include <string_view>

#include "base/hash.h"
#include "engine/distributed/collectives/collective_trace.h"
#include "engine/plan/ring.h"

namespace lockstep::distributed {

namespace {

/// The tensor is split into one chunk per rank. In the first N−1 steps, each chunk
/// travels around the ring and accumulates the sum over all ranks. In the last N−1
/// steps, the finished chunks travel around again until every rank has all of them.
void reduce_scatter_then_all_gather(RingLink& link, Buffer data) {
  const auto chunks = plan::ring_chunks(data.numel, link.size());
  const auto chunk = [&](int i) { return data.part(chunks[i].first, chunks[i].count); };
  for (const plan::RingStep& now : plan::ring_all_reduce(link.rank(), link.size())) {
    link.exchange(chunk(now.send_chunk), chunk(now.receive_chunk), now.reduces);
  }
}

/// Returns the same hash for a send and the matching recv.
uint32_t name_hash(const Collective& call) {
  const std::string_view name = call.name;
  return static_cast<uint32_t>(fnv1a64(name == "recv" ? "send" : name));
}

}  // namespace

runtime::Slot<RingAllReduce>& ring_all_reduce() {
  static runtime::Slot<RingAllReduce> in_use("ring_all_reduce",
                                             reduce_scatter_then_all_gather);
  return in_use;
}

Ring::Ring(std::unique_ptr<Transport> transport, int rank, int size,
           const std::string& group)
    : transport_(std::make_unique<TracedTransport>(std::move(transport), group, rank)),
      rank_(rank),
      size_(size) {}

/// The link of a single all-reduce on this rank; numbers its messages.
class Ring::Link : public RingLink {
 public:
  Link(Ring& ring, ReduceOp op, const Collective& call)
      : ring_(ring), op_(op), call_(call) {}
  int rank() const override { return ring_.rank_; }
  int size() const override { return ring_.size_; }
  void exchange(Buffer out, Buffer in, bool adds) override {
    const Message to_next{ring_.next(), out}, from_previous{ring_.previous(), in};
    ring_.pass(&to_next, &from_previous, adds ? &op_ : nullptr, step_++, call_);
  }

 private:
  Ring& ring_;
  const ReduceOp op_;
  const Collective& call_;
  int step_ = 0;
};

void Ring::all_reduce(Buffer data, ReduceOp op, const Collective& call) {
  Link link(*this, op, call);
  const auto& slot = ring_all_reduce();
  if (slot.plugged() && call.recorded()) {
    const int comm_lane = static_cast<int>(runtime::StreamKind::comm);
    runtime::mark_learner_call(slot.name(), rank_, comm_lane);
  }
  slot.in_use()(link, data);
}

/// Passes `data` along the ring from the root: every other rank receives it once, and
/// every rank but the last forwards it.
void Ring::broadcast(Buffer data, int root, const Collective& call) {
  const int at = distance(root);
  const Message in{previous(), data}, out{next(), data};
  if (at > 0) pass(nullptr, &in, nullptr, at - 1, call);
  if (at < size_ - 1) pass(&out, nullptr, nullptr, at, call);
}

/// The reverse of broadcast: the rank after the root starts, each rank adds its own
/// data, and the sum arrives at the root.
void Ring::reduce(Buffer data, int root, ReduceOp op, const Collective& call) {
  const int at = distance(root);
  std::optional<Scratch> sum;  // non-root ranks must not modify `data`
  if (at > 0) sum.emplace(data);
  const Buffer mine = sum ? sum->buffer() : data;
  const Message in{previous(), mine}, out{next(), mine};
  if (at != 1 && size_ > 1) pass(nullptr, &in, &op, at == 0 ? size_ - 2 : at - 2, call);
  if (at > 0) pass(&out, nullptr, nullptr, at - 1, call);
}

void Ring::all_gather(Buffer in, Buffer out, const Collective& call) {
  const auto part = [&](int i) { return out.part(i * in.numel, in.numel); };
  copy_into(part(rank_), in);
  int step = 0;
  for (const plan::RingStep& now : plan::ring_all_gather(rank_, size_)) {
    const Message send{now.send_to, part(now.send_chunk)};
    const Message receive{now.receive_from, part(now.receive_chunk)};
    pass(&send, &receive, nullptr, step++, call);
  }
}

void Ring::reduce_scatter(Buffer in, Buffer out, ReduceOp op, const Collective& call) {
  const Scratch sums(in);
  const auto part = [&](int i) { return sums.buffer().part(i * out.numel, out.numel); };
  int step = 0;
  for (const plan::RingStep& now : plan::ring_reduce_scatter(rank_, size_)) {
    const Message send{now.send_to, part(now.send_chunk)};
    const Message receive{now.receive_from, part(now.receive_chunk)};
    pass(&send, &receive, &op, step++, call);
  }
  copy_into(out, part(rank_));
}

void Ring::send(Buffer data, int to, const Collective& call) {
  const Message out{to, data};
  pass(&out, nullptr, nullptr, 0, call);
}

void Ring::recv(Buffer data, int from, const Collective& call) {
  const Message in{from, data};
  pass(nullptr, &in, nullptr, 0, call);
}

void Ring::pass(const Message* out, const Message* in, const ReduceOp* combine,
                int step, const Collective& call) {
  const auto tag = [&](const Message& message) {
    return MessageTag{call.seq, message.data.bytes(), step, name_hash(call)};
  };
  Outgoing sent;
  Incoming received;
  if (out) sent = {out->peer, out->data, tag(*out)};
  if (in) received = {in->peer, in->data, tag(*in), combine != nullptr};
  if (combine) received.op = *combine;
  transport_->exchange(out ? &sent : nullptr, in ? &received : nullptr, call);
}

}  // namespace lockstep::distributed
