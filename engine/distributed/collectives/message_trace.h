// Messages as events of the trace.
#pragma once

#include "engine/distributed/collectives/transport.h"

namespace lockstep::distributed {

/// One message of a collective that this rank received or sent.
struct MessageFacts {
  const char* group;
  int rank;  ///< ours
  int peer;  ///< at the other end
  int step;  ///< number of the message in its collective
  Buffer data;
  bool modelled = false;  ///< nobody saw it: size and time follow from the algorithm
};

/// A message between ranks of one process: one `copy` event on the receiver's comm
/// lane. Returns its id.
int64_t record_copy(const MessageFacts& message, const Collective& call,
                    const Exchanged& times, int64_t cpu_ns);

/// Between processes each records its half: the sender a mark `send` when the transfer
/// begins, the receiver an event `recv`; `trace merge` joins them. Returns the id.
int64_t record_send(const MessageFacts& message, const Collective& call,
                    const Exchanged& times, const std::vector<int64_t>& after);
int64_t record_recv(const MessageFacts& message, const Collective& call,
                    const Exchanged& times, int64_t cpu_ns);

}  // namespace lockstep::distributed
