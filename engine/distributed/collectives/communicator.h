// What a collective does, below tensors and streams: memory in, memory out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/distributed/collectives/buffer.h"
#include "engine/runtime/stream.h"

namespace lockstep::distributed {

/// One call of a collective, as every rank makes it: for messages and for the trace.
struct Collective {
  const char* name = "";    ///< `all_reduce`, `broadcast`, …
  const char* why = "";     ///< `all_reduce`, `broadcast`, `ddp_init`, `rebuild`, …
  const char* tensor = "";  ///< `bucket 0`, `buffers`; interned or a literal
  int64_t seq = 0;          ///< counts the group's collectives, from 0
  int64_t bytes = 0;        ///< of the whole tensor
  int64_t bucket = -1;

  // For the trace; ids are kNone when nothing is recorded.
  int64_t op = -1, step = -1;
  const char* phase = nullptr;
  std::vector<int64_t> deps;             ///< what this rank's first message waited for
  std::vector<runtime::EventPtr> waits;  ///< the same, and the collective before it
  std::shared_ptr<runtime::TaskParts> messages;  ///< from when to when they came
};

/// `all_reduce #7 (bucket 0, 2052000 B)`
std::string str(const Collective& call);

/// When the last of them was over (ns); blocks until then.
int64_t ended(const std::vector<runtime::EventPtr>& events);

/// A message of the call came from then to then (ns).
void message_came(const Collective& call, int64_t begin, int64_t end);

/// An algorithm that joins `size()` ranks; each rank has an object of its own. Calls
/// come from one thread (the comm stream's), block until this rank's part is done, or
/// handed over where hardware does it, and must come in the same order on all ranks.
/// They throw std::runtime_error naming the rank that is missing or disagrees;
/// afterwards the communicator is unusable.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual const char* algorithm() const = 0;  ///< `ring`, `gloo`
  virtual int rank() const = 0;
  virtual int size() const = 0;

  virtual void all_reduce(Buffer data, ReduceOp op, const Collective& call) = 0;
  virtual void broadcast(Buffer data, int root, const Collective& call) = 0;
  virtual void reduce(Buffer data, int root, ReduceOp op, const Collective& call) = 0;
  /// `out` holds size() parts of equal length; part r is rank r's `in`.
  virtual void all_gather(Buffer in, Buffer out, const Collective& call) = 0;
  /// `in` holds size() parts; `out` is this rank's part of their sum over ranks.
  virtual void reduce_scatter(Buffer in, Buffer out, ReduceOp op,
                              const Collective& call) = 0;
  virtual void send(Buffer data, int to, const Collective& call) = 0;
  virtual void recv(Buffer data, int from, const Collective& call) = 0;

  /// From any thread: whoever waits in a call, now or later, throws with this message.
  virtual void abort(const std::string& why) = 0;
};

}  // namespace lockstep::distributed
