// A profile of the machine that recorded three traces: what its copies and its host
// take.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tracer/emulate/hardware/hardware.h"

namespace lockstep::tracer {

/// How long a copy took.
struct CopyTime {
  int64_t bytes = 0, time = 0;  ///< ns
};

/// The line of copies' times over their bytes.
struct FittedLink {
  double latency_us = 0, gb_per_s = 0;
  size_t copies = 0;
  double error = 0;  ///< median of |time on the line − time| / time, over the sizes
};

/// Returns the line through the median times of each size that has the least squares of
/// relative errors; its latency is at least 0. Throws std::runtime_error that names
/// `what` if there are fewer than two sizes, or if larger copies are not slower.
FittedLink fit_link(const std::vector<CopyTime>& copies, const std::string& what);

/// What three runs of one network on one machine show.
struct Calibration {
  std::string device_type, arch;
  int64_t batch = 0;                        ///< of a device
  std::map<std::string, double> device_ms;  ///< by phase: kernels of one device's step
  double launch_us = 0;  ///< of the host: an operation that launches one kernel
  double module_us = 0;  ///< … a module's call, without the operations in it
  FittedLink host_link, device_link;  ///< host and device; device and device
  double replica_us_per_parameter = 0, replicate_us_per_parameter = 0;
  size_t parameters = 0;
};

/// Returns what the runs show: `one` is of one device, `two` and `three` are of
/// DataParallel on so many, of the same network with the same batch for each device. A
/// replica's cost is the host's time in `replicate` without the operations there. Times
/// are medians over training steps. Throws std::runtime_error if a trace is not of such
/// a run, or if its devices compute nothing.
Calibration calibrate(const Trace& one, const Trace& two, const Trace& three);

/// Returns the profile, which parse_hardware() reads: `devices` devices, each with a
/// link to all others and one to the host. `source` says what was run, and when.
Json profile_of(const Calibration& calibration, const std::string& name, int devices,
                const std::string& source);

}  // namespace lockstep::tracer
