// Where more devices stop to pay, read from a sweep over devices.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tracer/emulate/sweep.h"

namespace lockstep::tracer {

/// The speed-up of 1, 2, 4, … devices, all else equal.
struct SpeedUpCurve {
  std::string what;  ///< the values of the other axes: `link-gb-per-s=1`; "" without
  std::vector<SweepPoint> points;  ///< by devices, each number once
};

/// Returns one curve for each combination of the other axes' values; none if no axis is
/// `devices`.
std::vector<SpeedUpCurve> speed_up_curves(const std::vector<SweepAxis>& axes,
                                          const std::vector<SweepPoint>& points);

/// What a curve says about the number of devices, as far as its points go.
struct Knees {
  /// The first two neighbouring points between which each further device adds less than
  /// half a device.
  struct Bend {
    int from = 0, to = 0;  ///< devices
    double added = 0;      ///< by each device between them, in devices; may be negative
  };
  std::optional<Bend> bend;
  /// The number of devices with the highest speed-up, the smallest if there are
  /// several, and that speed-up.
  int fastest = 1;
  double highest = 0;
  bool still_rises = false;  ///< `fastest` is the last point
  /// The first number of devices with a speed-up of less than half of it: from there
  /// on, more than half of the devices' time is lost.
  std::optional<int> half_lost;
  int most = 1;  ///< the last point
};

/// REQUIRES: the curve has a point.
Knees knees_of(const SpeedUpCurve& curve);

/// Returns the sentences for all curves with at least two points; "" if there are none.
std::string knees_text(const std::vector<SpeedUpCurve>& curves);

}  // namespace lockstep::tracer
