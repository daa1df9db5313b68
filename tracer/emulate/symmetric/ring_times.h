// When the messages of a ring arrive, for any number of ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::tracer {

/// Returns when each rank's part of a ring all-reduce ends (ns): it has received its
/// last message and its own last message has arrived. `joined`: when each rank joins;
/// `chunks`: how long a message with each chunk takes (plan::ring_chunks). A message
/// starts when its sender and receiver have joined, the message before it has arrived
/// at its receiver, and the chunk in it has arrived at its sender.
///
/// Costs one addition per rank if all messages take equally long, and else
/// 2 (N − 1) N, which the compiler vectorises.
std::vector<int64_t> ring_ends(std::span<const int64_t> joined,
                               std::span<const int64_t> chunks);

}  // namespace lockstep::tracer
