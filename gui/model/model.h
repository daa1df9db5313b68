// The viewer's model of a trace: read once, indexed once, and immutable afterwards.
//
// It has two orders. *Time*: `events`, as they were recorded. *Program*: `program`,
// each call followed by everything it caused (calls, ops, kernels, copies) and only
// then the next call. Everything a panel shows is computed from a Model and a
// Position (position.h); the Model holds no viewer state.
//
// Uses no ImGui, files or threads, so that it also compiles for the browser.
// Thread-safe for concurrent reads.
#pragma once

#include <array>
#include <iterator>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gui/model/event.h"
#include "gui/model/strings.h"
#include "tracer/format/keys.h"

namespace lockstep::gui {

// The names of the trace's schema.
namespace keys = tracer::keys;
namespace names = tracer::names;
namespace phases = tracer::phases;
namespace reasons = tracer::reasons;
namespace top = tracer::top;
namespace values = tracer::values;

inline constexpr int kHostDevice = -1;
inline constexpr int kMaxRanks = 65'535;
inline constexpr int64_t kMaxBytes = int64_t{1} << 56;  ///< byte sums cannot overflow

/// A host thread, or one stream of a device.
struct Lane {
  std::string process, thread;  ///< names from the metadata
  int64_t pid = 0, tid = 0;
  int64_t process_sort = 0, thread_sort = 0;
  int rank = 0;
  int device = kHostDevice;      ///< index into Model::devices
  int stream = -1;               ///< 0 compute, 1 copy, 2 comm
  int rows = 1;                  ///< number of nesting levels of its events
  std::vector<uint32_t> events;  ///< X events and marks, in time order
  /// If something begins on a device's lane while a task runs, as PyTorch's profiler
  /// records "Stream Sync": by event, the latest end of a task until then, in ns.
  std::vector<int64_t> latest;
  bool is_host() const { return device == kHostDevice; }
};

/// Live bytes of a device, in the order of the memory categories.
struct Memory {
  std::array<int64_t, std::size(tracer::memory_categories)> bytes{};
  int64_t total() const {
    return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
  }
};

/// A change of a device's live bytes, when the device reaches it: see memory.h.
struct MemoryChange {
  int64_t when = 0;
  int64_t bytes = 0;
  uint8_t category = 0;
};

struct Device {
  struct Counter {
    int64_t ts = 0;
    uint64_t text : 56;   ///< offset of its JSON object in the trace's text
    uint64_t stream : 8;  ///< the last of the streams that use the block: 0, 1 or 2
  };

  int64_t id = 0;  ///< id in the trace
  std::string name;
  int rank = 0;
  std::vector<Counter> memory;        ///< in the order of the host
  Memory first_memory;                ///< the first counter's
  std::vector<MemoryChange> changes;  ///< after it, by time; empty if unknown
  std::vector<Memory> sums;           ///< before every 64th change
};

/// A transfer between memories.
struct Copy {
  uint32_t event = 0;
  int16_t src = kHostDevice, dst = kHostDevice;  ///< indices into Model::devices
  uint32_t why = 0;                              ///< index into Model::strings
  int64_t bytes = 0;
  uint32_t collective =
      kNoEvent;        ///< index into Model::collectives, if it is a message
  int16_t round = -1;  ///< args.ring_step of such a message
};

/// An operation that several ranks execute together: an all-reduce, a broadcast.
struct Collective {
  std::vector<uint32_t> events;  ///< one per rank, in time order
  std::vector<uint32_t> copies;  ///< its messages, by round, then by time
};

/// Cumulative traffic through one port, with one point at the end of each transfer.
struct Port {
  struct Point {
    int64_t ts;
    int64_t in, out;  ///< bytes since the start of the trace
  };
  std::vector<Point> points;
};

/// One `step` event, or the whole trace if it has none.
struct Step {
  uint32_t event = kNoEvent;
  uint32_t number = 0;
  int64_t begin = 0, end = 0;  ///< ns; ends with its last host or device event
  int64_t length =
      0;  ///< ns; steps of a profiler overlap: as in tracer/analysis/steps.h
  bool train = true;
  std::vector<uint32_t> by_rank;  ///< each rank's event, if there are several ranks
  /// Returns the `step` event of one rank, or kNoEvent if it has none.
  uint32_t event_of(int rank) const;
};

struct Model {
  std::string name;                   ///< file name for display
  std::shared_ptr<const void> owned;  ///< keeps `text` alive if nothing else does
  std::string_view text;              ///< the whole file, decompressed
  /// If the ranks represent more ranks: their numbers among all, and how many those
  /// are.
  std::vector<int> represented;
  int all_represented = 0;
  int alone = -1;  ///< rank of this file if the other ranks' files are missing; else -1
  int all_ranks = 1;  ///< of the job, if this is the file of one of them
  /// The top-level `lockstep` object, or nullptr; see `meta_of` in details.h.
  std::shared_ptr<const nlohmann::ordered_json> meta;
  Strings strings;
  std::vector<uint32_t> phases = {0};  ///< names of phases, by Event::phase

  std::vector<Event> events;           ///< by time; see comes_before (raw_model.h)
  std::vector<uint32_t> program;       ///< events in program order, rank by rank
  std::vector<uint32_t> rank_places;   ///< start of each rank's part, then the end
  std::vector<uint32_t> movements;     ///< in `program`: indices of copies, collectives
  std::vector<uint32_t> phase_places;  ///< in `program`: indices of phases and steps
  std::vector<Lane> lanes;             ///< in display order: hosts, then devices
  std::vector<Device> devices;
  std::vector<Copy> copies;             ///< ordered by event
  std::vector<Collective> collectives;  ///< ordered by their first event
  std::vector<std::pair<uint32_t, uint32_t>> collective_of_event;  ///< sorted
  std::vector<Port> ports;            ///< one per device, then the host's
  std::vector<Step> steps;            ///< by time; those of rank 0 if there are several
  int64_t length = 0;                 ///< duration of the trace, ns
  std::string failure;                ///< why the recorded run failed, if it did
  uint32_t failed = kNoEvent;         ///< the innermost event that its error ended
  std::vector<std::string> problems;  ///< defects of the file, in plain English

  /// Returns the event with this args.id, or kNoEvent.
  uint32_t event_of_id(int64_t id) const;
  const std::string& name_of(const Event& event) const { return strings[event.name]; }
  const Copy* copy_of(uint32_t event) const;  ///< nullptr if it is not a copy
  /// Returns the collective that an event is one rank's part of, or kNoEvent.
  uint32_t collective_of(uint32_t event) const;
  /// Returns the index of the step that contains or precedes `ts` (0 before the first).
  size_t step_at(int64_t ts) const;
  size_t step_at(int64_t ts, int rank) const;  ///< by that rank's step starts
  size_t step_of(const Event& event) const;    ///< the step recorded in it
  int rank_of(uint32_t event) const { return lanes[events[event].lane].rank; }
  std::string meta_text(const char* key) const;  ///< "" if absent or not text
  /// Returns the number of a rank, and of all ranks, as they are told.
  int number_of(int rank) const {
    return represented.empty() ? rank : represented.at(static_cast<size_t>(rank));
  }
  int ranks_told() const {
    if (alone >= 0) return all_ranks;
    return represented.empty() ? ranks() : all_represented;
  }
  /// Returns how many ranks recorded events, or are represented by those that did.
  int ranks_recorded() const;
  bool is_measured() const { return meta_text(top::clock) != values::emulated; }
  /// Returns false for measured times of null devices, which compute nothing.
  bool has_device_times() const;
  int ranks() const;
  /// Returns the number of parameter servers among the ranks: they run no steps.
  int servers() const;

  // The index of args.id: dense if ids are small, else sorted pairs.
  std::vector<uint32_t> dense_ids;
  std::vector<std::pair<uint32_t, uint32_t>> sparse_ids;
};

/// Returns the bytes of memory a Model uses, excluding the trace's text and strings.
size_t resident_bytes(const Model& model);

}  // namespace lockstep::gui
