// The parts of splitting a step (split.h): what runs on each device, and what the host
// threads wait for.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "tracer/analysis/split.h"
#include "tracer/format/facts.h"
#include "tracer/format/index.h"

namespace lockstep::tracer::split {

/// What takes precedence on a device, first to last.
enum class Level : uint8_t { kernel, core, copy, collective };

struct Work {
  const Event* task = nullptr;
  int64_t queued = 0;  ///< ns before it starts, waiting for a core, the GPU or ranks
  Level level = Level::kernel;
  Spent spent = Spent::other;
};

/// The tasks of one device, on all streams, and the copies that it sends.
struct Track {
  int64_t rank = 0, device = 0;
  Spent queued_as = Spent::core;  ///< the class of a kernel that could start: or `gpu`
  std::vector<Work> tasks;        ///< by start
  std::vector<int64_t> ends;      ///< the latest end of the tasks up to this one
  std::vector<int64_t> queued_from;  ///< when the first of this task and all later ones
                                     ///< began to wait
  /// Returns the first task that starts at or after `from`, or nullptr.
  const Work* next(int64_t from) const;
};

/// All devices of a trace.
class Tracks {
 public:
  Tracks(const Trace& trace, const Lanes& lanes);
  const std::vector<Track>& all() const { return tracks_; }
  /// Returns the track of a task; for one that arrives at the host, of its sender.
  const Track* of(const Event& task) const;
  /// Returns the task before `task` on its stream, or nullptr.
  const Event* before(const Event& task) const;
  /// Returns the first task on the stream of `task` that starts at or after `from`.
  const Event* next_on_stream(const Event& task, int64_t from) const;

 private:
  void add_idle_devices(const Trace& trace);
  size_t track_of(int64_t rank, int64_t device);

  const Lanes& lanes_;
  std::vector<Track> tracks_;
  LaneMap<std::vector<const Event*>> streams_;  ///< tasks by start, without messages
  std::map<std::pair<int64_t, int64_t>, size_t> by_place_;  ///< by rank and device
};

struct Piece {
  int64_t from = 0, to = 0;
  Spent spent = Spent::unknown;
  bool idle = false;  ///< the device does nothing; `spent` has no meaning
};

/// Returns what a device does from `begin` to `end`, without gaps.
std::vector<Piece> pieces_of(const Track& track, int64_t begin, int64_t end);

/// What a host thread does besides working.
struct HostLane {
  struct Wait {
    int64_t from = 0, to = 0;
    const Event* sync = nullptr;  ///< nullptr: it waits for the loader
  };
  std::vector<Wait> waits;           ///< by time, without overlaps
  std::vector<const Event*> outers;  ///< events that nothing on the lane encloses
};

LaneMap<HostLane> host_lanes(const Trace& trace);

}  // namespace lockstep::tracer::split
