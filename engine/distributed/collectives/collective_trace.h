// Trace events for collectives and their messages, and a transport that records them.
#pragma once

#include <memory>

#include "engine/distributed/collectives/process_group.h"
#include "engine/distributed/collectives/transport.h"

namespace lockstep::distributed {

/// Fills in the trace fields of `task`, which runs `call` on a tensor of type `dtype`,
/// and the fields of `call` that the records of its messages need. `task.waits` must be
/// complete, and the innermost open event must be the op that makes the call. Records
/// nothing if the recorder is off.
void describe_collective(runtime::Task& task, Collective& call,
                         const CollectiveLabel& label, const ProcessGroup& group,
                         Device device, DType dtype);

/// A message of a collective, received or sent by this rank.
struct MessageFacts {
  const char* group;
  int rank;  ///< rank of this process or thread
  int peer;  ///< rank at the other end
  int step;  ///< index of the message within its collective
  Buffer data;
  bool modelled = false;  ///< size and time are derived from the algorithm
};

/// Records a message between ranks of the same process as a `copy` event on the
/// receiver's comm lane. Returns the event's id.
int64_t record_copy(const MessageFacts& message, const Collective& call,
                    const Exchanged& times, int64_t cpu_ns);

/// Record the two halves of a message between processes: the sender records a `send`
/// instant event when the transfer begins, the receiver a `recv` event. `trace merge`
/// joins the two. Each function returns the id of its event.
int64_t record_send(const MessageFacts& message, const Collective& call,
                    const Exchanged& times, const std::vector<int64_t>& after);
int64_t record_recv(const MessageFacts& message, const Collective& call,
                    const Exchanged& times, int64_t cpu_ns);

/// A transport that records the messages of another one.
/// Forwards each exchange to `transport` and records when its messages were transferred
/// and which events they waited for. A rank's first message in a collective waits for
/// what the collective waits for; each later one, for the message received before it.
class TracedTransport : public Transport {
 public:
  /// Records on behalf of rank `rank` of group `group`.
  TracedTransport(std::unique_ptr<Transport> transport, const std::string& group,
                  int rank);

  Exchanged exchange(const Outgoing* out, const Incoming* in,
                     const Collective& call) override;
  void abort(const std::string& why) override { transport_->abort(why); }
  bool shares_recorder() const override { return transport_->shares_recorder(); }

 private:
  void begin(const Collective& call);
  void record_received(const Incoming& in, const Collective& call, Exchanged& times,
                       int64_t cpu_ns);

  const std::unique_ptr<Transport> transport_;
  const char* group_;
  const int rank_;
  int64_t op_ = tracer::kNone;   ///< `op` of the current collective
  std::vector<int64_t> causes_;  ///< events after which our next message is ready
  std::vector<runtime::EventPtr> waits_;  ///< work that our first message waits for
  int64_t last_ended_ = 0;                ///< when the previous message arrived
};

}  // namespace lockstep::distributed
