// A trace as the viewer sees it: read once, indexed once, never changed afterwards.
//
// Two orders run through it. *Time*: `events`, as they were recorded. *Program*:
// `program`, each call followed by all that it caused (calls, ops, kernels, copies)
// before the next call. Everything a panel shows is computed from a Model and a
// Position (position.h); the Model holds no state of the viewer.
//
// No ImGui, files or threads here: it also compiles for the browser. Reading it from
// several threads is safe.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gui/model/event.h"
#include "gui/model/strings.h"

namespace lockstep::gui {

inline constexpr int kHostDevice = -1;
inline constexpr int kMaxRanks = 65'535;
inline constexpr int64_t kMaxBytes = int64_t{1} << 56;  ///< no sum of bytes overflows

/// A host thread, or one stream of a device.
struct Lane {
  std::string process, thread;  ///< names from the metadata
  int64_t pid = 0, tid = 0;
  int64_t process_sort = 0, thread_sort = 0;
  int rank = 0;
  int device = kHostDevice;      ///< index into Model::devices
  int stream = -1;               ///< 0 compute, 1 copy, 2 comm
  int rows = 1;                  ///< how deep its events nest
  std::vector<uint32_t> events;  ///< X events and marks, sorted by time
  bool is_host() const { return device == kHostDevice; }
};

struct Device {
  int64_t id = 0;  ///< as the trace numbers it
  std::string name;
  int rank = 0;
  std::vector<std::pair<int64_t, uint64_t>> memory;  ///< (ts, text) of its counters
};

/// A transfer between memories.
struct Copy {
  uint32_t event = 0;
  int16_t src = kHostDevice, dst = kHostDevice;  ///< indices into Model::devices
  uint32_t why = 0;                              ///< number in Model::strings
  int64_t bytes = 0;
  uint32_t collective =
      kNoEvent;        ///< index into Model::collectives, if it is a message
  int16_t round = -1;  ///< args.ring_step of such a message
};

/// What several ranks do together: an all-reduce, a broadcast.
struct Collective {
  std::vector<uint32_t> events;  ///< of each rank, by time
  std::vector<uint32_t> copies;  ///< its messages, by round, then time
};

/// What went in and out of one port until each transfer's end.
struct Port {
  struct Point {
    int64_t ts;
    int64_t in, out;  ///< bytes since the trace's beginning
  };
  std::vector<Point> points;
};

/// One `step` event, or the whole trace where it has none.
struct Step {
  uint32_t event = kNoEvent;
  uint32_t number = 0;
  int64_t begin = 0, end = 0;  ///< ns; ends with its last host or device event
  bool train = true;
  std::vector<uint32_t> by_rank;  ///< each rank's event, where there are several
  /// The `step` event of one rank; kNoEvent if it has none.
  uint32_t event_of(int rank) const;
};

struct Model {
  std::string name;                   ///< of the file, for people
  std::shared_ptr<const void> owned;  ///< keeps `text` where nothing else does
  std::string_view text;              ///< the whole file, unpacked
  int alone = -1;  ///< the rank whose file this is, where the others' are not here
  /// The top-level `lockstep` object, or none; `meta_of` in details.h reads it.
  std::shared_ptr<const nlohmann::ordered_json> meta;
  Strings strings;
  std::vector<uint32_t> phases = {0};  ///< names of phases, by their small number

  std::vector<Event> events;           ///< by time, the longer first
  std::vector<uint32_t> program;       ///< events in program order, rank by rank
  std::vector<uint32_t> rank_places;   ///< where each rank's part begins, and the end
  std::vector<uint32_t> movements;     ///< places in `program` of copies, collectives
  std::vector<uint32_t> phase_places;  ///< places in `program` of phases and steps
  std::vector<Lane> lanes;  ///< sorted as they are shown: hosts, then devices
  std::vector<Device> devices;
  std::vector<Copy> copies;             ///< by event
  std::vector<Collective> collectives;  ///< by the time of their first event
  std::vector<std::pair<uint32_t, uint32_t>> collective_of_event;  ///< sorted
  std::vector<Port> ports;            ///< of the devices; the host's is the last
  std::vector<Step> steps;            ///< by time; of rank 0 where there are several
  int64_t length = 0;                 ///< ns, of the whole trace
  std::vector<std::string> problems;  ///< what is wrong with the file, in plain words

  /// The event with this args.id, or kNoEvent.
  uint32_t event_of_id(int64_t id) const;
  const std::string& name_of(const Event& event) const { return strings[event.name]; }
  const Copy* copy_of(uint32_t event) const;  ///< nullptr if it is no copy
  /// The collective that an event is a rank's part of, or kNoEvent.
  uint32_t collective_of(uint32_t event) const;
  /// Index of the step that contains or precedes `ts` (0 before the first).
  size_t step_at(int64_t ts) const;
  size_t step_at(int64_t ts, int rank) const;  ///< by that rank's own beginnings
  size_t step_of(const Event& event) const;    ///< the one that it says
  int rank_of(uint32_t event) const { return lanes[events[event].lane].rank; }
  std::string meta_text(const char* key) const;  ///< "" when absent or no text
  bool is_measured() const { return meta_text("clock") != "emulated"; }
  int ranks() const;

  // The index of ids: dense where ids are small, else sorted pairs.
  std::vector<uint32_t> dense_ids;
  std::vector<std::pair<uint32_t, uint32_t>> sparse_ids;
};

/// What a Model takes in memory beside the trace's text and its strings, in bytes.
size_t resident_bytes(const Model& model);

}  // namespace lockstep::gui
