// Corrects clocks by as little as makes every cause precede its effect.
#pragma once

#include <cstdint>
#include <vector>

#include "tracer/format/clocks.h"
#include "tracer/format/message_times.h"

namespace lockstep::tracer {

struct Tightened {
  std::vector<ClockMap> corrections;  ///< one per machine; empty: none was necessary
  int64_t contradicted = 0;           ///< messages that the guess contradicts
  int64_t left = 0;                   ///< those that the result contradicts
  int64_t residual_ns = 0;            ///< by how much, at most
};

/// Finds a constant correction per machine: shortest paths over the differences of two
/// clocks that the messages allow (Bellman-Ford), so the result is exact whenever one
/// exists. If none exists, since clocks drift, the correction becomes linear between 2,
/// 3, 5, … points, until nothing is contradicted.
Tightened tighten(const MessageTimes& times, size_t machines);

}  // namespace lockstep::tracer
