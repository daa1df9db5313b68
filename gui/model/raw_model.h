// The loader's output and the indexer's input: events in file order, with references
// still given as the ids in the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/model.h"

namespace lockstep::gui {

/// Orders by start time; at the same time, host events precede device events that they
/// may have caused, and longer events precede shorter ones that they may enclose.
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

/// The same facts as tracer::CopyFacts, taken from EventFields as the file is read,
/// with strings as indices: a large trace has millions of copies.
struct RawCopy {
  uint32_t event = 0;
  int64_t src = kHostDevice, dst = kHostDevice;  ///< the trace's device ids
  uint32_t why = 0;
  int64_t bytes = 0;
  uint32_t group = 0;  ///< of the collective that this is a message of
  int64_t seq = -1, ring_step = -1;
};

/// What identifies a collective across ranks; panels read the rest (CollectiveArgs).
struct RawCollective {
  uint32_t event = 0;
  uint32_t group = 0;  ///< index into Model::strings
  int64_t seq = -1;
};

struct RawCounter {
  uint32_t lane = 0;
  int64_t ts = 0;  ///< same as Event::ts
  uint64_t text = 0;
};

/// A task: how many counters of its device, and of its sender, precede it.
struct RawQueued {
  uint32_t event = 0;
  int64_t counters = -1, src_counters = -1;
};

struct RawStep {
  uint32_t event = 0;
  bool train = true;
};

/// PyTorch's profiler: a launch on the host, or the work that it launched on a device.
struct RawLaunch {
  int64_t correlation = 0;
  uint32_t event = 0;
};

struct RawProcess {
  std::string name;
  int64_t sort = 0;
  int64_t device = kHostDevice;  ///< each pid is a host or a whole device
  int64_t rank = -1;             ///< -1: unknown
};

struct RawLane {
  Lane lane;
  uint32_t process = 0;        ///< index into `processes`
  std::vector<uint32_t> open;  ///< begun (ph B) but not yet ended
};

struct RawModel {
  Model model;  ///< `events` (lane = index into `lanes` below), strings, phases, text
  std::vector<RawReference> references;  ///< one per event
  std::vector<RawLane> lanes;
  std::vector<RawProcess> processes;
  std::vector<RawCopy> copies;
  std::vector<RawCollective> collectives;
  std::vector<RawCounter> counters;
  std::vector<RawQueued> queued;
  std::vector<RawStep> steps;           ///< from our own traces
  std::vector<RawStep> profiler_steps;  ///< "ProfilerStep#7"
  std::vector<RawLaunch> launches, launched;
  int64_t rank = 0;  ///< of processes that do not specify one
  bool sorted = true;
};

/// Sorts, resolves references, and builds all indices of the Model. Requires at least
/// one event.
Model index_model(RawModel raw);

// The stages of index_model, in execution order.
void sort_events(RawModel& raw);        // index_events.cpp
void index_ids(RawModel& raw);          // index_events.cpp
void index_lanes(RawModel& raw);        // index_lanes.cpp
void nest_events(RawModel& raw);        // index_events.cpp
void index_steps(RawModel& raw);        // index_steps.cpp
void order_program(Model& model);       // index_events.cpp
void index_copies(RawModel& raw);       // index_lanes.cpp
void index_memory(RawModel& raw);       // memory.cpp
void index_collectives(RawModel& raw);  // index.cpp

}  // namespace lockstep::gui
