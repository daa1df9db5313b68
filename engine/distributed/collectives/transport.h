// Messages between two ranks, as the ring algorithms need them.
#pragma once

#include <string>
#include <vector>

#include "base/deadline.h"
#include "engine/distributed/collectives/communicator.h"

namespace lockstep::distributed {

/// What both ends must agree on before a byte of a message moves.
struct MessageTag {
  int64_t seq = 0, bytes = 0;
  int32_t message = 0;      ///< number of the message in its collective
  uint32_t collective = 0;  ///< hash of the collective's name
  bool operator==(const MessageTag&) const = default;
};

struct Outgoing {
  int to = 0;
  Buffer data;
  MessageTag tag;
  // For the trace: this rank's events after which the message was ready, and the work
  // that these stand for if it may not be over yet.
  std::vector<int64_t> after = {};
  std::vector<runtime::EventPtr> waits = {};
};

struct Incoming {
  int from = 0;
  Buffer data;
  MessageTag tag;
  bool combine =
      false;  ///< join what arrives with what is there, by `op`; else replace
  ReduceOp op = ReduceOp::sum;
};

/// When an exchange's two messages moved (ns), for the trace.
struct Exchanged {
  int64_t out_began = 0;               ///< ours began to move
  int64_t in_began = 0, in_ended = 0;  ///< theirs
  std::vector<int64_t> after;  ///< theirs: the sender's `after`, if we share a recorder
};

/// Moves messages. The receiver must be ready before a message begins to move (a
/// rendezvous, as NCCL's): so a transfer's time is its own, and nothing is buffered.
/// Used by one thread per rank; `abort` may be called by any.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Sends `out` and receives `in` at the same time; either may be null. Throws
  /// std::runtime_error naming the rank at the other end.
  virtual Exchanged exchange(const Outgoing* out, const Incoming* in,
                             const Collective& call) = 0;

  virtual void abort(const std::string& why) = 0;

  /// True when sender and receiver share the recorder, so that a message is one event;
  /// else each records its half.
  virtual bool shares_recorder() const = 0;
};

/// Combines or replaces `into`, of `in.data` or a part of it, with `from`.
void apply(const Incoming& in, Buffer into, Buffer from);

/// "rank 1 sends message 2 of all_reduce #7 …, but rank 0 expects …".
std::string disagreement(int mine, int other, const Collective& call,
                         const MessageTag& expected, const MessageTag& got);

}  // namespace lockstep::distributed
