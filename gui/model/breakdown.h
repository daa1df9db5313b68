// Where a step's time and bytes go: the same definitions as `trace summary`, computed
// from the viewer's compact events.
#pragma once

#include <cstdint>
#include <vector>

#include "gui/model/model.h"

namespace lockstep::gui {

struct PhaseTime {
  uint32_t name = 0;   ///< number in Model::strings
  int64_t first = 0;   ///< ns, when it began
  int64_t host = 0;    ///< ns that host threads spent in it, overlaps counted once
  int64_t device = 0;  ///< ns from its first kernel or copy to the end of its last
  bool on_device = false;
  int64_t cost() const { return on_device ? device : host; }
};

/// Bytes of one reason through one port.
struct PortBytes {
  int device = kHostDevice;  ///< index into Model::devices
  bool out = false;
  uint32_t why = 0;  ///< number in Model::strings
  int64_t bytes = 0;
};

/// How one device spent the step, ns.
struct DeviceTime {
  int64_t computing = 0;      ///< a kernel ran
  int64_t communicating = 0;  ///< a copy or collective ran, to or from it
  int64_t both = 0;           ///< at the same time
};

struct Breakdown {
  int64_t length = 0;             ///< ns
  int64_t batch = 0;              ///< images, 0 if the trace does not say
  std::vector<PhaseTime> phases;  ///< in the order in which they began
  std::vector<PortBytes> ports;   ///< by device, out before in; the host last
  std::vector<DeviceTime> devices;
};

Breakdown break_down(const Model& model, size_t step);

/// The mean over at most `kMeanSteps` steps, the last ones; the same kinds of phases.
inline constexpr size_t kMeanSteps = 64;
Breakdown mean_breakdown(const Model& model);

}  // namespace lockstep::gui
