#include "tracer/emulate/scoreboard/fit.h"

#include <algorithm>
#include <cmath>

namespace lockstep::tracer {
namespace {

using CostVector = std::array<double, kCosts>;
using CostMatrix = std::array<CostVector, kCosts>;

double log_time(const StepSetting& setting, const CostFactors& factors) {
  return std::log(step_time(setting, factors).total());
}

/// How the logarithm of the time depends on those of the factors.
CostVector gradient_of(const StepSetting& setting, const CostFactors& factors) {
  constexpr double kStep = 1e-3;
  CostVector gradient{};
  for (size_t i = 0; i < kCosts; ++i) {
    CostFactors less = factors, more = factors;
    less[i] -= kStep;
    more[i] += kStep;
    gradient[i] = (log_time(setting, more) - log_time(setting, less)) / (2 * kStep);
  }
  return gradient;
}

/// The variance of what differs between networks on one machine.
double transfer_variance(const CostVector& gradient) {
  double variance = 0;
  for (size_t i = 0; i < kCosts; ++i) {
    variance += std::pow(gradient[i] * cost_priors()[i].transfer, 2);
  }
  return variance;
}

/// Returns the inverse of a symmetric positive definite matrix (Gauss-Jordan).
CostMatrix inverse(CostMatrix matrix) {
  CostMatrix result{};
  for (size_t i = 0; i < kCosts; ++i) result[i][i] = 1;
  for (size_t i = 0; i < kCosts; ++i) {
    const double pivot = matrix[i][i];
    for (size_t k = 0; k < kCosts; ++k) {
      matrix[i][k] /= pivot;
      result[i][k] /= pivot;
    }
    for (size_t j = 0; j < kCosts; ++j) {
      if (j == i) continue;
      const double share = matrix[j][i];
      for (size_t k = 0; k < kCosts; ++k) {
        matrix[j][k] -= share * matrix[i][k];
        result[j][k] -= share * result[i][k];
      }
    }
  }
  return result;
}

CostVector product(const CostMatrix& matrix, const CostVector& vector) {
  CostVector result{};
  for (size_t i = 0; i < kCosts; ++i) {
    for (size_t k = 0; k < kCosts; ++k) result[i] += matrix[i][k] * vector[k];
  }
  return result;
}

double dot(const CostVector& a, const CostVector& b) {
  double sum = 0;
  for (size_t i = 0; i < kCosts; ++i) sum += a[i] * b[i];
  return sum;
}

/// Returns the lower triangle whose square is a positive definite matrix (Cholesky).
CostMatrix square_root(const CostMatrix& matrix) {
  CostMatrix root{};
  for (size_t i = 0; i < kCosts; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double rest = matrix[i][j];
      for (size_t k = 0; k < j; ++k) rest -= root[i][k] * root[j][k];
      root[i][j] = i == j ? std::sqrt(std::max(rest, 0.0)) : rest / root[j][j];
    }
  }
  return root;
}

/// Normally distributed numbers that are the same on every platform, unlike those of
/// <random>.
class NormalNumbers {
 public:
  double next() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * M_PI * uniform());
  }

 private:
  /// In (0, 1). Source: SplitMix64 (Vigna).
  double uniform() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return (static_cast<double>((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
  }
  uint64_t state_ = 0;
};

/// The precision of the priors, and the pull of the observations, at some factors.
struct NormalEquations {
  CostMatrix precision{};
  CostVector pull{};
};

NormalEquations normal_equations(const std::vector<Observation>& observations,
                                 const CostFactors& factors) {
  NormalEquations normal;
  for (size_t i = 0; i < kCosts; ++i) {
    normal.precision[i][i] = 1 / std::pow(cost_priors()[i].machine, 2);
  }
  for (const Observation& seen : observations) {
    const CostVector gradient = gradient_of(seen.setting, factors);
    const double variance =
        seen.log_noise * seen.log_noise + transfer_variance(gradient);
    // Linear around `factors`: y ≈ f + g · (x − factors).
    const double target = std::log(seen.seconds) - log_time(seen.setting, factors) +
                          dot(gradient, factors);
    for (size_t i = 0; i < kCosts; ++i) {
      normal.pull[i] += gradient[i] * target / variance;
      for (size_t k = 0; k < kCosts; ++k) {
        normal.precision[i][k] += gradient[i] * gradient[k] / variance;
      }
    }
  }
  return normal;
}

}  // namespace

CostFit fit_costs(const std::vector<Observation>& observations) {
  constexpr int kSteps = 60;
  constexpr double kLargest = 0.3;  // a step in any factor's logarithm
  CostFit fit;
  for (int step = 0; step < kSteps; ++step) {
    const NormalEquations normal = normal_equations(observations, fit.factors);
    fit.covariance = inverse(normal.precision);
    const CostVector next = product(fit.covariance, normal.pull);
    double change = 0;
    for (size_t i = 0; i < kCosts; ++i) {
      change = std::max(change, std::abs(next[i] - fit.factors[i]));
    }
    const double share = change > kLargest ? kLargest / change : 1;
    for (size_t i = 0; i < kCosts; ++i) {
      fit.factors[i] += share * (next[i] - fit.factors[i]);
    }
    if (change < 1e-9) break;
  }
  return fit;
}

TimeInterval predict_time(const StepSetting& setting, const CostFit& fit,
                          double log_noise) {
  constexpr size_t kDraws = 400;
  const CostMatrix root = square_root(fit.covariance);
  NormalNumbers normal;
  std::vector<double> times;
  for (size_t draw = 0; draw < kDraws; ++draw) {
    CostVector numbers{};
    for (double& number : numbers) number = normal.next();
    CostFactors factors = fit.factors;
    const CostVector known = product(root, numbers);
    for (size_t i = 0; i < kCosts; ++i) {
      factors[i] += known[i] + cost_priors()[i].transfer * normal.next();
    }
    times.push_back(log_time(setting, factors) + log_noise * normal.next());
  }
  std::sort(times.begin(), times.end());
  return {step_time(setting, fit.factors).total(), std::exp(times[kDraws / 20]),
          std::exp(times[kDraws - 1 - kDraws / 20])};
}

}  // namespace lockstep::tracer
