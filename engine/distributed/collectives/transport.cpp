#include "engine/distributed/collectives/transport.h"

#include <fmt/format.h>

namespace lockstep::distributed {

void apply(const Incoming& in, Buffer into, Buffer from) {
  if (in.combine) {
    reduce_into(into, from, in.op);
  } else {
    copy_into(into, from);
  }
}

std::string disagreement(int mine, int other, const Collective& call,
                         const MessageTag& expected, const MessageTag& got) {
  std::string theirs = fmt::format("message {} ({} B) of its collective #{}",
                                   got.message, got.bytes, got.seq);
  if (got.collective != expected.collective) theirs += ", a different collective";
  return fmt::format(
      "rank {} disagrees with rank {}: it is at {}, but {} expects message {} ({} B); "
      "all ranks must make the same calls with the same shapes",
      other, mine, theirs, str(call), expected.message, expected.bytes);
}

}  // namespace lockstep::distributed
