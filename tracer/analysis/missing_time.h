// Why twice the images on two devices take longer than the images on one: the parts of
// a step, what is missing, and what the parts predict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tracer/analysis/summary.h"

namespace lockstep::tracer {

/// Milliseconds with as many decimals as the longest of several times requires.
class RoundedTimes {
 public:
  /// `longest` is in ns, as are all other times.
  explicit RoundedTimes(int64_t longest);

  /// Returns the parts in units of the last decimal place; they add up to their rounded
  /// sum.
  std::vector<int64_t> units(const std::vector<int64_t>& parts) const;
  std::string text(int64_t units) const;  ///< `12.1`

 private:
  int decimals_ = 0;
  int64_t unit_ = 1'000'000;  ///< ns
};

/// The difference between a step of N devices with N times the batch and a step of one
/// device. Without any cost of sharing, both would take the same time.
struct MissingTime {
  int64_t devices = 0, batch = 0;
  int64_t alone = 0, step = 0;  ///< ns, of the mean step of one device, and of N
  /// `alone + Σ parts = step`; largest first, those below 1 % of the step as `other`.
  /// `computing` is the sum of what is_computing() accepts, except the optimizer.
  std::vector<PathShare> parts;

  double speedup() const;  ///< in images per second
};

/// Returns std::nullopt unless both runs trained the same architecture with the same
/// batch on each device, on the same clock, and the longest paths are known.
std::optional<MissingTime> missing_time(const Summary& ours, const Summary& single);

/// Returns, for example, "485 ms + 24 computing + 12 reduce = 521 ms".
std::string missing_line(const MissingTime& missing);

/// Returns the share of forward and backward in the steps of one device.
double parallel_share(const StepGroup& one_device);

/// Returns Amdahl's speedup, 1/((1 − p) + p/N): forward and backward are shared among
/// the devices, and all the rest takes as long for each image as on one device.
double predicted_speedup(double parallel_share, int64_t devices);

/// Returns how the step of N devices compares with that of one, what was added, and
/// what the proportions predict. Names no cause if other programs used the cores, and
/// is empty if the two cannot be compared.
std::string missing_sentence(const Summary& ours, const Summary& single);

}  // namespace lockstep::tracer
