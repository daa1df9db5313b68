// Which factors on the costs agree best with what was measured, and how sure that is.
#pragma once

#include <vector>

#include "tracer/emulate/scoreboard/step_time.h"

namespace lockstep::tracer {

/// A step that was measured.
struct Observation {
  StepSetting setting;
  double seconds = 0;
  double log_noise = 0;  ///< standard deviation of the logarithm of `seconds`
};

/// The most probable factors, and the covariance of their logarithms.
struct CostFit {
  CostFactors factors{};
  std::array<std::array<double, kCosts>, kCosts> covariance{};
};

/// Returns the factors that are most probable after the observations: normal priors of
/// cost_priors() for their logarithms, normal errors of the logarithm of the time. No
/// observation gives the priors. Gauss-Newton steps; the covariance is that of the
/// problem linearized at the result (Laplace's approximation).
CostFit fit_costs(const std::vector<Observation>& observations);

/// A predicted time, and its 90 % interval.
struct TimeInterval {
  double seconds = 0, low = 0, high = 0;
};

/// Returns the time of a step at the most probable factors. The interval has 5 % of the
/// times below it and 5 % above it that follow from factors drawn from the fit, from
/// what differs between networks on one machine, and from `log_noise`. The same
/// arguments give the same result.
TimeInterval predict_time(const StepSetting& setting, const CostFit& fit,
                          double log_noise);

/// Half the width of a 90 % interval, in standard deviations.
inline constexpr double kNinety = 1.6448536269514722;

}  // namespace lockstep::tracer
