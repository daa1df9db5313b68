// Messages that share links.
#pragma once

#include <functional>
#include <optional>

#include "tracer/emulate/hardware/hardware.h"
#include "tracer/emulate/retime.h"

namespace lockstep::tracer {

/// What a copy puts on the links of its path.
struct LinkMessage {
  const Path* path = nullptr;
  double bytes = 0;       ///< on the wire
  double latency_ns = 0;  ///< before the first of them
};

/// Returns what a task sends, and std::nullopt for a task that uses no link.
using MessageOf = std::function<std::optional<LinkMessage>(const Event& task)>;

/// Like `retime`, but a message uses all segments of its path while it is sent: the
/// sender's port, the receiver's, and those between. Messages that use a segment at the
/// same time share it: the rates are max-min fair at every moment. No message waits for
/// another.
Schedule retime_with_links(const TimingGraph& graph, const Weights& weights,
                           const std::vector<Segment>& segments,
                           const MessageOf& message_of);

}  // namespace lockstep::tracer
