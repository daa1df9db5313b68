// Trace events for collectives and their messages.
#pragma once

#include "engine/distributed/collectives/process_group.h"
#include "engine/distributed/collectives/transport.h"

namespace lockstep::distributed {

/// Fills in the trace fields of `task`, which runs `call` on a tensor of type `dtype`,
/// and the fields of `call` with which its messages are recorded. `task.waits` must be
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

}  // namespace lockstep::distributed
