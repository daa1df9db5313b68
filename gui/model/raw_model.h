// What the loader hands to the indexer: events in the file's order, and references
// still as the ids that the file uses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/model.h"

namespace lockstep::gui {

/// Earlier first; at the same time the host before what it may have caused on devices,
/// then the longer, which may enclose the other.
inline bool comes_before(const Event& a, const Event& b) {
  if (a.ts != b.ts) return a.ts < b.ts;
  if (a.is_task() != b.is_task()) return b.is_task();
  return a.dur > b.dur;
}

inline constexpr uint32_t kNoId = UINT32_MAX;
inline constexpr size_t kMaxLanes = 65'535;
inline constexpr size_t kMaxDevices = 4096;

struct RawReference {
  uint32_t id = kNoId;     ///< args.id
  uint32_t cause = kNoId;  ///< args.op, args.by or args.parent
};

struct RawCopy {
  uint32_t event = 0;
  int64_t src = kHostDevice, dst = kHostDevice;  ///< the trace's device ids
  uint32_t why = 0;
  int64_t bytes = 0;
  uint32_t group = 0;  ///< of the collective that it is a message of
  int64_t seq = -1, ring_step = -1;
};

struct RawCollective {
  uint32_t event = 0;
  uint32_t group = 0;  ///< number in Model::strings
  int64_t seq = -1;
};

struct RawCounter {
  uint32_t lane = 0;
  int64_t ts = 0;  ///< as Event::ts
  uint64_t text = 0;
};

struct RawStep {
  uint32_t event = 0;
  bool train = true;
};

/// PyTorch's profiler: a launch on the host, or what it launched on a device.
struct RawLaunch {
  int64_t correlation = 0;
  uint32_t event = 0;
};

struct RawProcess {
  std::string name;
  int64_t sort = 0;
  int64_t device = kHostDevice;  ///< a pid is a host or a device as a whole
  int64_t rank = -1;             ///< -1: unknown
};

struct RawLane {
  Lane lane;
  uint32_t process = 0;        ///< index into `processes`
  std::vector<uint32_t> open;  ///< begun (ph B) and not yet ended
};

struct RawModel {
  Model model;  ///< `events` (lane = index into `lanes` below), strings, phases, text
  std::vector<RawReference> references;  ///< of each event
  std::vector<RawLane> lanes;
  std::vector<RawProcess> processes;
  std::vector<RawCopy> copies;
  std::vector<RawCollective> collectives;
  std::vector<RawCounter> counters;
  std::vector<RawStep> steps;           ///< ours
  std::vector<RawStep> profiler_steps;  ///< "ProfilerStep#7"
  std::vector<RawLaunch> launches, launched;
  int64_t rank = 0;  ///< of processes that do not say
  bool sorted = true;
};

/// Sorts, resolves references, and builds everything that Model promises. There must
/// be an event.
Model index_model(RawModel raw);

// Its parts, in this order.
void sort_events(RawModel& raw);   // index_events.cpp
void index_ids(RawModel& raw);     // index_events.cpp
void index_lanes(RawModel& raw);   // index_lanes.cpp
void nest_events(RawModel& raw);   // index_events.cpp
void index_steps(RawModel& raw);   // index_steps.cpp
void order_program(Model& model);  // index_events.cpp
void index_copies(RawModel& raw);  // index_lanes.cpp
void index_collectives(RawModel& raw);

}  // namespace lockstep::gui
