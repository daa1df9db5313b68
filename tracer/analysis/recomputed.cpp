#include "tracer/analysis/recomputed.h"

#include <map>
#include <unordered_set>

#include "tracer/format/facts.h"
#include "tracer/format/lanes.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {
namespace {

constexpr std::string_view kNode = "CheckpointFunctionBackward";

/// Until when a host lane is in such a node, and in the call that it makes.
struct Inside {
  int64_t node = INT64_MIN, call = INT64_MIN;
};

/// Returns the ids of the operations in these calls. A caller precedes its callees.
std::unordered_set<int64_t> operations(const Trace& trace) {
  std::unordered_set<int64_t> ids;
  std::map<LaneKey, Inside> lanes;
  for (const Event& event : trace.events) {
    if (event.ph != 'X') continue;
    const bool op = event.is(categories::op);
    if (op && event.name == kNode) {
      lanes[lane_of(event)] = {event.end(), INT64_MIN};
    } else if (!lanes.empty() && (op || event.is(categories::call))) {
      const auto lane = lanes.find(lane_of(event));
      if (lane == lanes.end() || event.ts >= lane->second.node) continue;
      Inside& inside = lane->second;
      if (!op && inside.call == INT64_MIN) inside.call = event.end();
      if (op && event.ts < inside.call) ids.insert(event.id);
    }
  }
  return ids;
}

}  // namespace

Recomputed recomputed_kernels(const Trace& trace) {
  Recomputed result;
  const std::unordered_set<int64_t> again = operations(trace);
  if (again.empty()) return result;
  for (const Event& event : trace.events) {
    if (event.ph != 'X' || !computes(event)) continue;
    result.time_of_all = add_within_range(result.time_of_all, event.dur);
    if (!again.contains(event.op)) continue;
    ++result.kernels;
    result.time = add_within_range(result.time, event.dur);
  }
  return result;
}

}  // namespace lockstep::tracer
