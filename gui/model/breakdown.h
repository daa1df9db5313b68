// Breakdown of a step's time and bytes, from the viewer's compact events: the phases
// cost what they cost in `trace summary`, and bytes and devices are split further.
#pragma once

#include <cstdint>
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

struct Breakdown {
  int64_t length = 0;  ///< ns
  int64_t batch = 0;   ///< images; 0 if the trace does not record it
  std::vector<tracer::NamedPhase> phases;  ///< in the order in which they began
  std::vector<PortBytes> ports;            ///< by device, out before in; the host last
  std::vector<DeviceTime> devices;
};

Breakdown break_down(const Model& model, size_t step);

/// Maximum number of steps, counted from the end, that `mean_breakdown` averages over.
inline constexpr size_t kMeanSteps = 64;
Breakdown mean_breakdown(const Model& model);

}  // namespace lockstep::gui
