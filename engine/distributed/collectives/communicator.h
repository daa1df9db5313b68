// The interface of collectives, below tensors and streams: memory in, memory out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/distributed/collectives/buffer.h"
#include "engine/runtime/stream.h"

namespace lockstep::distributed {

/// One call of a collective, as made by every rank.
struct Collective {
  const char* name = "";    ///< `all_reduce`, `broadcast`, …
  const char* why = "";     ///< `all_reduce`, `broadcast`, `ddp_init`, `rebuild`, …
  const char* tensor = "";  ///< `bucket 0`, `buffers`; interned or a literal
  int64_t seq = 0;          ///< position among the group's collectives, starting at 0
  int64_t bytes = 0;        ///< size of the whole tensor
  int64_t bucket = -1;
  int stage = -1, micro_batch = -1;  ///< of the receiver, in a pipeline

  // Used by the trace; set by `describe_collective` during recording.
  int64_t op = tracer::kNone, step = tracer::kNone;
  const char* phase = nullptr;
  std::vector<int64_t> deps;  ///< events that this rank's first message waits for
  std::vector<runtime::EventPtr> waits;  ///< `deps`, plus the preceding collective
  std::shared_ptr<runtime::TaskParts> messages;  ///< the span covered by the messages
  bool recorded() const { return op != tracer::kNone; }
};

/// `all_reduce #7 (bucket 0, 2052000 B)`
std::string str(const Collective& call);

/// Blocks until all events have happened; returns the time of the last one (ns).
int64_t ended(const std::vector<runtime::EventPtr>& events);

/// Extends the collective's recorded span to include [begin, end), in ns.
void extend_span(const Collective& call, int64_t begin, int64_t end);

/// An algorithm for collectives of `size()` ranks; each rank has its own object. Calls
/// must be made from one thread (the comm stream's) and in the same order on all ranks.
/// A call blocks until this rank's part is done, or enqueued if hardware performs it.
/// Throws std::runtime_error naming the rank that is missing or disagrees; the
/// communicator is unusable afterwards.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual const char* algorithm() const = 0;  ///< `ring`, `gloo`
  virtual int rank() const = 0;
  virtual int size() const = 0;

  virtual void all_reduce(Buffer data, ReduceOp op, const Collective& call) = 0;
  virtual void broadcast(Buffer data, int root, const Collective& call) = 0;
  virtual void reduce(Buffer data, int root, ReduceOp op, const Collective& call) = 0;
  /// `out` consists of size() parts of equal length; part r is rank r's `in`.
  virtual void all_gather(Buffer in, Buffer out, const Collective& call) = 0;
  /// `in` consists of size() parts; `out` is this rank's part of the sum over ranks.
  virtual void reduce_scatter(Buffer in, Buffer out, ReduceOp op,
                              const Collective& call) = 0;
  virtual void send(Buffer data, int to, const Collective& call) = 0;
  virtual void recv(Buffer data, int from, const Collective& call) = 0;

  /// Makes pending and future calls throw std::runtime_error with the message `why`.
  /// May be called from any thread.
  virtual void abort(const std::string& why) = 0;
};

}  // namespace lockstep::distributed
