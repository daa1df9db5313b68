#include "engine/distributed/transport.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::distributed {

void apply(const Incoming& in, Buffer into, Buffer from) {
  if (in.combine) {
    reduce_into(into, from, in.op);
  } else {
    copy_into(into, from);
  }
}

int64_t ended(const std::vector<runtime::EventPtr>& events) {
  int64_t last = 0;
  for (const runtime::EventPtr& event : events) {
    event->wait();
    last = std::max(last, event->ended());
  }
  return last;
}

void message_came(const Collective& call, int64_t begin, int64_t end) {
  if (!call.messages) return;
  call.messages->begin = std::min(call.messages->begin, begin);
  call.messages->end = std::max(call.messages->end, end);
}

std::string str(const Collective& call) {
  return fmt::format("{} #{} ({}{}{} B)", call.name, call.seq, call.tensor,
                     *call.tensor ? ", " : "", call.bytes);
}

std::string disagreement(int mine, int other, const Collective& call,
                         const MessageTag& expected, const MessageTag& got) {
  std::string theirs = fmt::format("message {} of {} B of its collective #{}",
                                   got.message, got.bytes, got.seq);
  if (got.collective != expected.collective) theirs += ", another collective than ours";
  return fmt::format(
      "rank {} disagrees with rank {}: it is at {}, where {} wants message {} of {} B. "
      "All ranks must make the same calls with the same shapes",
      other, mine, theirs, str(call), expected.message, expected.bytes);
}

}  // namespace lockstep::distributed
