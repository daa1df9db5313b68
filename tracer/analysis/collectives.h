// The collectives of a trace with all ranks: the event of each rank, and the messages.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "tracer/format/facts.h"
#include "tracer/format/lanes.h"

namespace lockstep::tracer {

/// A collective is one event on each rank, identified by `group` and `seq`.
struct CollectiveKey {
  std::string_view group;
  int64_t seq;
  auto operator<=>(const CollectiveKey&) const = default;
};

struct CollectivePart {
  const Event* event = nullptr;
  CollectiveFacts facts;
};

struct CollectiveMessage {
  const Event* event = nullptr;
  CopyFacts facts;
};

struct WholeCollective {
  std::map<int64_t, CollectivePart> by_rank;
  std::vector<CollectiveMessage> messages;  ///< sorted by time
};
using Collectives = std::map<CollectiveKey, WholeCollective>;

/// Messages whose collective is not in the trace have a `WholeCollective` without
/// parts. The result refers to the trace's events.
Collectives find_collectives(const Trace& trace, const Lanes& lanes);

/// The number used by messages: 0 if it is not specified.
inline int64_t number_of(const CollectiveFacts& facts) {
  return facts.seq == kNone ? 0 : facts.seq;
}

}  // namespace lockstep::tracer
