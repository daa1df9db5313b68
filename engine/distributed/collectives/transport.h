// Messages between two ranks, as required by the ring algorithms.
#pragma once

#include <string>
#include <vector>

#include "base/deadline.h"
#include "engine/distributed/collectives/communicator.h"

namespace lockstep::distributed {

/// The fields that both ends of a message must agree on before any data is sent.
struct MessageTag {
  int64_t seq = 0, bytes = 0;
  int32_t message = 0;      ///< index of the message within its collective
  uint32_t collective = 0;  ///< hash of the collective's name
  bool operator==(const MessageTag&) const = default;
};

struct Outgoing {
  int to = 0;
  Buffer data;
  MessageTag tag;
  // Set by TracedTransport: this rank's events after which the message is ready, and
  // the corresponding work, which may still be running.
  std::vector<int64_t> after = {};
  std::vector<runtime::EventPtr> waits = {};
};

struct Incoming {
  int from = 0;
  Buffer data;
  MessageTag tag;
  bool combine = false;  ///< combines received data with `data` using `op`
  ReduceOp op = ReduceOp::sum;
};

/// Times at which the two messages of an exchange were transferred (ns).
struct Exchanged {
  int64_t out_began = 0;
  int64_t in_began = 0, in_ended = 0;
  std::vector<int64_t> after;  ///< the sender's `after`, if both ends share a recorder
};

/// Transfers messages. A transfer starts when the receiver is ready (a rendezvous, as
/// in NCCL), and the transfer time excludes the wait for a late receiver. Nothing is
/// buffered but small messages that are not recorded (LocalTransport). Used by one
/// thread per rank; `abort` may be called from any thread.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Sends `out` and receives `in` concurrently; either may be null. On failure, throws
  /// std::runtime_error naming the rank at the other end.
  virtual Exchanged exchange(const Outgoing* out, const Incoming* in,
                             const Collective& call) = 0;

  virtual void abort(const std::string& why) = 0;

  /// Returns whether sender and receiver share a recorder, so that each message is a
  /// single event. Otherwise each end records its half.
  virtual bool shares_recorder() const = 0;
};

/// Copies `from` into `into` (`in.data` or a part of it), or combines the two.
void apply(const Incoming& in, Buffer into, Buffer from);

/// Returns the error message for two ranks whose tags differ.
std::string disagreement(int mine, int other, const Collective& call,
                         const MessageTag& expected, const MessageTag& got);

}  // namespace lockstep::distributed
