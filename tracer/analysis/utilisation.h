// For how much of the steps' time the loader, the cores and the ports were in use.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tracer/analysis/steps.h"

namespace lockstep::tracer {

/// Shares of the steps' time; std::nullopt where the trace does not say.
struct Utilisation {
  std::optional<double> data;     ///< during which a host waited in the `data` phase
  std::optional<double> workers;  ///< of the loader's workers' time, needed to keep up
  int64_t worker_count = 0;
  std::optional<double> cores;  ///< mean number of cores that ran kernels
  /// The port, of a device or of the host, that was in use the longest.
  struct BusiestPort {
    double share = 0;    ///< 0: nothing was copied
    int64_t device = 0;  ///< or kHost
    bool out = false;
  };
  std::optional<BusiestPort> port;
};

/// Measures `steps`, which are all of one kind and joined over ranks. On devices of
/// type null, all times are unknown. Cores are also unknown on the emulated clock, on
/// GPUs and in imports; ports, if a collective's messages are not recorded.
Utilisation measure_utilisation(const Trace& trace,
                                const std::vector<const Step*>& steps);

/// Returns one line.
std::string utilisation_text(const Utilisation& use);
Json utilisation_json(const Utilisation& use);  ///< null for unknown

}  // namespace lockstep::tracer
