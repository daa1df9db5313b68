// The parts of a pipeline's grid (pipeline.h): its passes with their kernels, and the
// causes of what lies between them.
#pragma once

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "tracer/analysis/pipeline.h"
#include "tracer/analysis/split_parts.h"
#include "tracer/format/index.h"

namespace lockstep::tracer::grid {

/// A host event that is an action of a schedule.
struct Range {
  const Event* event = nullptr;
  plan::PipelineAction action;
};

/// The actions of a whole trace.
class Ranges {
 public:
  Ranges(const Trace& trace, const Lanes& lanes);
  const std::vector<Range>& all() const { return all_; }

  /// Returns the index of the range in which an op was called: the one on the op's own
  /// thread; else of the one from which the thread was called; else of one that another
  /// thread of its rank was in, as PyTorch's backward pass has a thread of its own.
  /// Else kNoPass.
  uint32_t around(const Event& op, const Index& index) const;

 private:
  uint32_t last_at(const std::vector<size_t>* ranges, int64_t ts) const;
  const Event* caller(const Event& event, const Index& index) const;

  const Lanes& lanes_;
  std::vector<Range> all_;
  LaneMap<std::vector<size_t>> by_lane_;
  std::map<int64_t, std::vector<size_t>> by_rank_;
  LaneMap<split::HostLane> hosts_;
};

/// What is sent: forward?, receiving stage, micro-batch.
using Parcel = std::tuple<bool, int, int>;

/// A kernel on a device of the grid.
struct Work {
  int64_t begin = 0, end = 0;
  int64_t launched = 0;     ///< when the op that enqueued it began
  int64_t queued = 0;       ///< ns before `begin` of waiting for a core or the GPU
  uint32_t pass = kNoPass;  ///< kNoPass: of no pass
  std::optional<Parcel> awaits = {};  ///< a copy that its stream waited for
};

/// The way of an input from device to device.
struct Link {
  int64_t launched = INT64_MAX;  ///< when the first of its copies was enqueued
  int64_t end = 0;
};

struct Findings {
  std::vector<std::vector<Work>> work;  ///< by device of the grid, by begin
  std::map<Parcel, Link> links;
  /// Of an import, by device: when collectives run.
  std::vector<std::vector<std::pair<int64_t, int64_t>>> collectives;
  std::vector<DevicePieces*> spent;  ///< by device of the grid; null if not known
  bool imported = false;
  int last_stage = 0;
};

/// Waiting for a device that computes: divide_waits() gives it its name.
inline constexpr Slot kComputes = Slot::order;
/// Waiting for the input of another pass, because its copy was queued before this one:
/// in the end `order`.
inline constexpr Slot kQueued = static_cast<Slot>(kSlots);
/// Turns kComputes into `fill`, `drain`, `order`, `uneven` and `knock_on`, and sets
/// `ideal`.
void divide_waits(Pipeline& pipeline, int last_stage);

/// Fills in the pieces and the times of each device, and `ideal`. Gives the pieces of
/// the step that were unknown the class of the grid.
void explain(Pipeline& pipeline, const Findings& findings);

}  // namespace lockstep::tracer::grid
