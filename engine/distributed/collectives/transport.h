// Messages between two ranks, as the ring algorithms need them.
#pragma once

#include <string>
#include <vector>

#include "base/deadline.h"
#include "engine/distributed/collectives/communicator.h"

namespace lockstep::distributed {

/// What both ends of a message must agree on before its first byte moves.
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
  // Set by TracedTransport: this rank's events after which the message is ready, and
  // the work behind them that may still be running.
  std::vector<int64_t> after = {};
  std::vector<runtime::EventPtr> waits = {};
};

struct Incoming {
  int from = 0;
  Buffer data;
  MessageTag tag;
  bool combine = false;  ///< joins what arrives with what is there, by `op`
  ReduceOp op = ReduceOp::sum;
};

/// When an exchange's two messages moved (ns).
struct Exchanged {
  int64_t out_began = 0;
  int64_t in_began = 0, in_ended = 0;
  std::vector<int64_t> after;  ///< the sender's `after`, if both share the recorder
};

/// Moves messages. A message begins to move when its receiver is ready (a rendezvous,
/// as NCCL's): nothing is buffered, and a transfer's time does not include the wait for
/// a late receiver. Used by one thread per rank; `abort` may be called by any thread.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Sends `out` and receives `in` at the same time; either may be null. Throws
  /// std::runtime_error that names the rank at the other end.
  virtual Exchanged exchange(const Outgoing* out, const Incoming* in,
                             const Collective& call) = 0;

  virtual void abort(const std::string& why) = 0;

  /// Returns whether sender and receiver share the recorder, so that a message is one
  /// event. If not, each records its half.
  virtual bool shares_recorder() const = 0;
};

/// Writes `from` into `into`, which is `in.data` or a part of it, or combines the two.
void apply(const Incoming& in, Buffer into, Buffer from);

/// Returns the error message for ranks whose tags differ.
std::string disagreement(int mine, int other, const Collective& call,
                         const MessageTag& expected, const MessageTag& got);

}  // namespace lockstep::distributed
