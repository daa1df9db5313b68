#include "engine/distributed/collectives/traced_transport.h"

#include <algorithm>
#include <utility>

#include "engine/distributed/collectives/collective_trace.h"
#include "tracer/record/recorder.h"

namespace lockstep::distributed {

TracedTransport::TracedTransport(std::unique_ptr<Transport> transport,
                                 const std::string& group, int rank)
    : transport_(std::move(transport)), group_(tracer::intern(group)), rank_(rank) {}

Exchanged TracedTransport::exchange(const Outgoing* out, const Incoming* in,
                                    const Collective& call) {
  if (!call.recorded()) return transport_->exchange(out, in, call);
  begin(call);
  Outgoing described;
  if (out) {
    described = *out;
    described.after = causes_;
    described.waits = waits_;
  }
  const int64_t cpu_start = tracer::thread_cpu_ns();
  Exchanged times = transport_->exchange(out ? &described : nullptr, in, call);
  const int64_t cpu = tracer::thread_cpu_ns() - cpu_start;
  if (out && !shares_recorder()) {
    record_send({group_, rank_, out->to, out->tag.message, out->data}, call, times,
                causes_);
  }
  if (in) record_received(*in, call, times, cpu);
  return times;
}

void TracedTransport::begin(const Collective& call) {
  if (std::exchange(seq_, call.seq) == call.seq) return;
  causes_ = call.deps;
  waits_ = call.waits;
  last_ended_ = 0;
}

void TracedTransport::record_received(const Incoming& in, const Collective& call,
                                      Exchanged& times, int64_t cpu_ns) {
  // Hardware clock times are clamped: no message begins before its dependencies end.
  times.in_began = std::max({times.in_began, ended(waits_), last_ended_});
  times.in_ended = std::max(times.in_ended, times.in_began + 1);
  const MessageFacts facts{group_, rank_, in.from, in.tag.message, in.data};
  causes_ = {shares_recorder() ? record_copy(facts, call, times, cpu_ns)
                               : record_recv(facts, call, times, cpu_ns)};
  waits_.clear();
  last_ended_ = times.in_ended;
  extend_span(call, times.in_began, times.in_ended);
}

}  // namespace lockstep::distributed
