// What a step consists of, from the viewer's compact events: its phases (with the cost
// that `trace summary` shows), bytes by port, the time of each device, and calls by
// name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "gui/model/model.h"
#include "tracer/analysis/spans.h"

namespace lockstep::gui {

/// Bytes transferred through one port for one reason.
struct PortBytes {
  int device = kHostDevice;  ///< index into Model::devices
  bool out = false;
  uint32_t why = 0;  ///< index into Model::strings
  int64_t bytes = 0;
};

/// How one device spent the step, in ns.
struct DeviceTime {
  int64_t computing = 0;      ///< a kernel ran
  int64_t communicating = 0;  ///< a copy or collective ran, to or from it
  int64_t both = 0;           ///< both at the same time
};

/// Not one rank's step, but that of all ranks.
inline constexpr int kAllRanks = -1;

struct Breakdown {
  int64_t length = 0;  ///< ns
  /// The rank whose step this is, if ranks make steps at their own pace: `length`,
  /// `batch` and `phases` are of its step only, with what its host enqueued anywhere.
  /// Else kAllRanks.
  int rank = kAllRanks;
  int64_t batch = 0;  ///< images; 0 if the trace does not record it
  std::vector<tracer::NamedPhase> phases;  ///< in the order in which they began
  /// DataParallel's forward: scatter, replicate, parallel_apply and gather together, to
  /// compare with other modes; its phase `forward` has no tasks of its own.
  std::optional<tracer::PhaseCost> joined_forward;
  std::vector<PortBytes> ports;  ///< by device, out before in; the host last
  std::vector<DeviceTime> devices;
  /// Of several ranks: from the first task to the last one's end, by rank and phase (an
  /// index into Model::phases); begins after it ends if the rank runs none.
  std::vector<std::pair<int64_t, int64_t>> rank_spans;

  /// Returns the time of a phase on one rank's device; 0 if the rank runs none of it.
  int64_t rank_time(const Model& model, int rank, std::string_view phase) const;
};

/// Returns the images per second; 0 if the trace does not record the batch.
double images_per_second(const Breakdown& step);

/// `rank` matters only where ranks go at their own pace.
Breakdown break_down(const Model& model, size_t step, int rank = 0);

/// Maximum number of steps, counted from the end, that `mean_breakdown` averages over.
inline constexpr size_t kMeanSteps = 64;
/// At their own pace, the mean is over the steps that `rank` made.
Breakdown mean_breakdown(const Model& model, int rank = 0);

/// Events with the same name below the same entry.
struct CallEntry {
  uint32_t name = 0;   ///< index into Model::strings
  uint32_t first = 0;  ///< the first event that this entry represents
  Kind kind = Kind::call;
  int depth = 0;
  uint32_t count = 0;
  int64_t time = 0;   ///< ns, summed; may exceed wall-clock time if tasks overlap
  uint32_t last = 0;  ///< one past the last entry below it
};

/// Returns the entries of one rank in program order, each followed by its descendants.
/// Omits marks and everything after the step's first 200,000 events. `trace summary
/// --calls` (tracer/analysis/call_tree.h) answers another question: it keeps the order
/// of the calls and joins only neighbours that make the same calls.
std::vector<CallEntry> calls_by_name(const Model& model, size_t step, int rank = 0);

/// Returns the ns in which the device that is busy the longest ran part of the phase.
int64_t busiest(const tracer::PhaseCost& cost);

}  // namespace lockstep::gui
