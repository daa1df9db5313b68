// Why N devices are not N times as fast: the shortfall from N, divided among its
// causes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tracer/analysis/summary.h"

namespace lockstep::tracer {

/// A cause that keeps a step from taking one N-th of its time on one device.
struct SpeedupLoss {
  std::string what;    ///< `smaller kernels`, `replicate`, `reduce`, `host`, …
  int64_t added = 0;   ///< ns a step beyond one N-th of what one device spends on it
  int hundredths = 0;  ///< taken from the speedup, in 0.01x; negative: a gain
};

/// `devices − Σ losses = speedup`, in hundredths and without remainder.
struct Speedup {
  int64_t devices = 0;
  int hundredths = 0;               ///< one device's step time over ours, in 0.01x
  std::vector<SpeedupLoss> losses;  ///< largest first; small ones joined as `other`
};

/// The loss to smaller batches, whose computing takes more than its share.
inline constexpr const char* kSmallerKernels = "smaller kernels";

/// Returns "2.50x as fast", "as fast" or "1.11x as slow": how a step of `ours` ns
/// compares with one of `theirs`.
std::string as_fast(int64_t theirs, int64_t ours);

/// Divides the difference between N and the speedup of N devices over one device among
/// its causes. Both runs must train the same architecture with the same batch per step,
/// on the same clock. A cause's loss is N times its added time over the step time,
/// where the times are those on the longest path: computing (`smaller kernels`: one
/// N-th of the batch takes more than one N-th of the kernel time), every reason to
/// copy, host, waits, and `wake-ups`: what a step takes beyond the path, while threads
/// wake up. Returns std::nullopt if the two cannot be compared or a path is unknown.
std::optional<Speedup> divide_speedup(const Summary& ours, const Summary& single);

/// Returns, for example, "4.00x − 0.62 replicate − 0.31 smaller kernels = 3.07x".
std::string speedup_line(const Speedup& speedup);

/// One mode's speedup on three kinds of hardware.
struct Scaling {
  Speedup here;            ///< devices and links as emulated
  Speedup faster_devices;  ///< … faster devices, the same links
  Speedup faster_links;    ///< … faster devices and faster links
};

/// One training on one device, with DataParallel and with DistributedDataParallel.
struct ScalingRuns {
  const Summary& single;  ///< as measured, like the next two
  const Summary& dp;
  const Summary& ddp;
  std::optional<Scaling> of_dp, of_ddp;      ///< on the emulated clock
  std::string gpu;                           ///< the faster devices: "13 TFLOP/s"
  double gb_per_s = 0, faster_gb_per_s = 0;  ///< of the links
};

/// Returns three lines: what N devices give with DataParallel, what takes the rest, and
/// what would help. If other programs disturbed a measurement, they tell only what
/// follows from the bytes. "" for one device, and if a speedup is unknown.
std::string scaling_lesson(const ScalingRuns& runs);

}  // namespace lockstep::tracer
