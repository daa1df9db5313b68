#include "tracer/format/message_times.h"

#include <algorithm>
#include <map>
#include <optional>

#include "tracer/format/lanes.h"
#include "tracer/format/messages.h"

namespace lockstep::tracer {
namespace {

struct Sent {
  size_t rank = 0;
  int64_t ts = 0;
};

std::map<MessageKey, Sent> sends_of(const std::vector<Trace>& ranks) {
  std::map<MessageKey, Sent> sends;
  for (size_t i = 0; i < ranks.size(); ++i) {
    for (const Event& event : ranks[i].events) {
      if (event.is(categories::send))
        sends.emplace(message_of(event), Sent{i, event.ts});
    }
  }
  return sends;
}

/// One lane, whose events come in the order of time: what a new event comes after.
class LaneSoFar {
 public:
  /// Returns the earliest time at which `event`'s work can have begun, if known: it
  /// lies in the innermost event that is still open, after all that have ended.
  std::optional<int64_t> earliest(const Event& event) {
    while (!open_.empty() && open_.back()->end() <= event.ts) {
      ended_ = std::max(ended_.value_or(INT64_MIN), open_.back()->end());
      open_.pop_back();
    }
    std::optional<int64_t> earliest = ended_;
    if (!open_.empty()) {
      earliest = std::max(earliest.value_or(INT64_MIN), open_.back()->ts);
    }
    open_.push_back(&event);
    return earliest;
  }

 private:
  std::vector<const Event*> open_;
  std::optional<int64_t> ended_;
};

}  // namespace

MessageTimes message_times(const std::vector<Trace>& ranks,
                           const std::vector<size_t>& machine_of,
                           const std::function<int64_t(size_t, int64_t)>& time_of) {
  const std::map<MessageKey, Sent> sends = sends_of(ranks);
  MessageTimes times;
  for (size_t i = 0; i < ranks.size(); ++i) {
    LaneMap<LaneSoFar> lanes;
    for (const Event& event : ranks[i].events) {
      if (event.ph != 'X') continue;
      const auto ready = lanes[lane_of(event)].earliest(event);
      if (!event.is(categories::recv)) continue;
      const auto send = sends.find(message_of(event));
      if (send == sends.end()) continue;
      const size_t from = machine_of[send->second.rank], here = machine_of[i];
      if (from == here) continue;
      const int64_t sent = time_of(send->second.rank, send->second.ts);
      times.all.push_back({from, here, sent, time_of(i, event.ts), times.messages});
      if (ready)
        times.all.push_back({here, from, time_of(i, *ready), sent, times.messages});
      ++times.messages;
    }
  }
  return times;
}

}  // namespace lockstep::tracer
