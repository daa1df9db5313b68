// Collectives and their messages as events of the trace.
#pragma once

#include "engine/distributed/collectives/process_group.h"
#include "engine/distributed/collectives/transport.h"

namespace lockstep::distributed {

/// Fills in what the trace shows of `task`, which runs `call` on a tensor of type
/// `dtype`, and the fields of `call` that its messages are recorded by. `task.waits`
/// must be complete, and the op that makes the call must be the innermost open event.
/// Records nothing while the recorder is off.
void describe_collective(runtime::Task& task, Collective& call,
                         const CollectiveLabel& label, const ProcessGroup& group,
                         Device device, DType dtype);

/// One message of a collective that this rank received or sent.
struct MessageFacts {
  const char* group;
  int rank;  ///< ours
  int peer;  ///< at the other end
  int step;  ///< number of the message in its collective
  Buffer data;
  bool modelled = false;  ///< size and time follow from the algorithm
};

/// Records a message between ranks of one process as a `copy` event on the receiver's
/// comm lane. Returns its id.
int64_t record_copy(const MessageFacts& message, const Collective& call,
                    const Exchanged& times, int64_t cpu_ns);

/// Record the halves of a message between processes: the sender a mark `send` when the
/// transfer begins, the receiver an event `recv`. `trace merge` joins them. Return the
/// id.
int64_t record_send(const MessageFacts& message, const Collective& call,
                    const Exchanged& times, const std::vector<int64_t>& after);
int64_t record_recv(const MessageFacts& message, const Collective& call,
                    const Exchanged& times, int64_t cpu_ns);

}  // namespace lockstep::distributed
