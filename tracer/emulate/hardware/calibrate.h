// A profile of the machine that recorded some traces: what its copies and its host
// take, and how much slower kernels are while another device computes.
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

/// Returns the line through the median times of each size whose squared errors, each
/// relative to the time, have the least sum: large copies count for more than small
/// ones, which caches serve at other rates. Its latency is at least 0. Throws
/// std::runtime_error that names `what` if there are fewer than two sizes, or if larger
/// copies are not slower.
FittedLink fit_link(const std::vector<CopyTime>& copies, const std::string& what);

/// The runs of one network that a calibration needs, with the same batch for each
/// device. `alone` and `together` were recorded in turns: a machine's pace drifts.
struct CalibrationRuns {
  std::vector<Trace> alone;     ///< on one device; at least one
  Trace two, three;             ///< DataParallel on so many devices
  std::vector<Trace> together;  ///< DistributedDataParallel on two devices
};

/// What the runs of one network on one machine show.
struct Calibration {
  std::string device_type, arch;
  int64_t batch = 0;                        ///< of a device
  std::map<std::string, double> device_ms;  ///< by phase: kernels of one device's step
  double launch_us = 0;  ///< of the host: an operation that launches one kernel
  double module_us = 0;  ///< … a module's call, without the operations in it
  FittedLink host_link, device_link;  ///< host and device; device and device
  std::map<std::string, double> memory_gb_per_s;  ///< see MemoryRates
  double replica_us_per_parameter = 0, replicate_us_per_parameter = 0;
  size_t parameters = 0;
  Contention contention;  ///< without its source
};

/// Returns what the runs show. A replica's cost is the host's time in `replicate`
/// without the operations there. Contention is the time of an operation's kernels in
/// `together`, where both devices compute at the same time, relative to `alone`: an
/// operation has a figure of its own if it takes at least 0.1 % of the time. Kernels'
/// waits for a core count. Links are those of copies while no other copy ran. Memory
/// rates are those of DataParallel's packing and sums, as if no other device computed:
/// their contention is not in them. Times are medians over training steps. Throws
/// std::runtime_error if a trace is not of such a run, or if its devices compute
/// nothing.
Calibration calibrate(const CalibrationRuns& runs);

/// Returns the profile, which parse_hardware() reads: `devices` devices, each with a
/// link to all others and one to the host. `source` says what was run, and when.
Json profile_of(const Calibration& calibration, const std::string& name, int devices,
                const std::string& source);

}  // namespace lockstep::tracer
