// One step of a trace on a time axis of its own: when each phase ran on the devices,
// and what each device did, in a fixed number of bins. Two traces are compared with
// them.
//
// A pure function of the Model; it reads all events of the step, so keep the result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gui/model/model.h"

namespace lockstep::gui {

/// A phase of the step, in ns since its begin: from the first kernel or copy to the end
/// of the last. Where devices have no times: from its first to its last moment on the
/// host.
struct LanePhase {
  std::string name;
  int64_t begin = 0, end = 0;
  int row = 0;       ///< from 0; phases of one row do not overlap
  int64_t busy = 0;  ///< ns in which the device that is busy the longest ran part of it
  int64_t length() const { return end - begin; }
};

inline constexpr size_t kLaneBins = 2048;    ///< each is 1/2048 of StepLanes::length
inline constexpr size_t kMostOwnLanes = 16;  ///< devices that get lanes of their own
inline constexpr int kMostPhaseRows = 3;  ///< phases that would need more are left out

/// What one device, or all of them, did in one bin.
struct LaneBin {
  float share = 0;    ///< of the bin's time; for all devices: the mean
  uint32_t what = 0;  ///< index into Model::strings: a phase or a copy's reason
};

struct StepLane {
  std::vector<LaneBin> computing;     ///< kernels, by phase; kLaneBins, or none
  std::vector<LaneBin> transferring;  ///< copies and collectives, by reason or phase
};

struct StepLanes {
  int64_t begin = 0;       ///< ns since the trace's first event
  int64_t length = 0;      ///< ns until the end of the step and of its last task
  bool on_devices = true;  ///< false: devices have no times, and there are no lanes
  std::vector<LanePhase> phases;  ///< by begin
  int rows = 0;                   ///< of `phases`
  size_t left_out = 0;            ///< phases without room in kMostPhaseRows rows
  StepLane all;                   ///< all devices together
  std::vector<StepLane> devices;  ///< empty if there are more than kMostOwnLanes

  /// Returns the phase of that name, or nullptr.
  const LanePhase* phase(const std::string& name) const;
};

/// The DataParallel phases scatter, replicate, parallel_apply and gather are also shown
/// together as `forward`, as Breakdown::joined_forward.
StepLanes step_lanes(const Model& model, size_t step);

}  // namespace lockstep::gui
