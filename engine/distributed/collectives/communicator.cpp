#include "engine/distributed/collectives/communicator.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::distributed {

int64_t ended(const std::vector<runtime::EventPtr>& events) {
  int64_t last = 0;
  for (const runtime::EventPtr& event : events) {
    event->wait();
    last = std::max(last, event->ended());
  }
  return last;
}

void extend_span(const Collective& call, int64_t begin, int64_t end) {
  if (!call.messages) return;
  call.messages->begin = std::min(call.messages->begin, begin);
  call.messages->end = std::max(call.messages->end, end);
}

std::string str(const Collective& call) {
  return fmt::format("{} #{} ({}{}{} B)", call.name, call.seq, call.tensor,
                     *call.tensor ? ", " : "", call.bytes);
}

}  // namespace lockstep::distributed
