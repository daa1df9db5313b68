// Updates of a model that workers share: how stale their gradients were, and what was
// lost.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tracer/analysis/staleness.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// One update: a phase `optimizer` that states the version which it made.
struct SharedUpdate {
  const Event* event = nullptr;
  int64_t worker = kNone;  ///< kNone: not stated
  int64_t read_version = kNone, version = kNone;
  int64_t lost = kNone;  ///< elements in which it overwrote another update

  /// Returns how many other updates lie between the read and this one.
  int64_t staleness() const { return version - 1 - read_version; }
};

/// Returns the updates by version; none if no model is shared in host memory. (Those of
/// parameter servers: staleness.h.)
std::vector<SharedUpdate> find_shared_updates(const Trace& trace);

/// All updates of a trace.
struct Staleness {
  int64_t updates = 0, workers = 0;
  StalenessCounts histogram;  ///< staleness → number of updates
  int64_t lost = kNone;       ///< elements; kNone: not recorded
};

/// Leaves out updates whose versions are missing or contradict each other.
Staleness staleness_of(const Trace& trace);

std::string staleness_text(const Staleness& staleness);  ///< "" without updates
Json staleness_json(const Staleness& staleness);

}  // namespace lockstep::tracer
