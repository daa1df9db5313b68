// The demo: runs the same few steps on one device, with DataParallel and with
// DistributedDataParallel, on both clocks, and prints one table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "run/environment.h"

namespace lockstep::run {

struct DemoOptions {
  std::string data, out = "traces", arch = "resnet18";
  int devices = 4;
  int64_t batch = 64, steps = 3;
};

/// Trains, writes one trace per mode to `out`, and prints the comparison. Returns the
/// trace files of one device, DataParallel and DistributedDataParallel, in this order,
/// or nullopt after Ctrl-C. Throws std::runtime_error.
std::optional<std::vector<std::string>> compare_modes(const DemoOptions& options,
                                                      const Environment& environment);

}  // namespace lockstep::run
