#include "tracer/emulate/scoreboard/widen.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace lockstep::tracer {
namespace {

bool has_width(const RowPrediction& p) {
  return p.is_predicted() && p.low > 0 && p.low < p.predicted && p.predicted < p.high;
}

/// Returns how many half-widths of its interval a row's value is away.
double distance(const RowPrediction& p) {
  const double off = std::log(p.row->value / p.predicted);
  const double half =
      off > 0 ? std::log(p.high / p.predicted) : std::log(p.predicted / p.low);
  return std::abs(off) / half;
}

/// Returns the value that at least 90 % of one more draw of the same kind do not
/// exceed (split conformal prediction).
double ninety_of(std::vector<double> distances) {
  if (distances.empty()) return 1;
  std::sort(distances.begin(), distances.end());
  const auto count = static_cast<double>(distances.size());
  const auto rank = static_cast<size_t>(std::ceil(0.9 * (count + 1)));
  return distances[std::min(rank, distances.size()) - 1];
}

}  // namespace

void widen_intervals(Scoreboard& board) {
  std::map<std::string, double> factors;
  for (const RowPrediction& p : board.predictions) factors[p.family] = 1;
  for (auto& [family, factor] : factors) {
    std::vector<double> others;
    for (const RowPrediction& p : board.predictions) {
      if (p.family == family || !has_width(p) || p.row->anomaly) continue;
      others.push_back(distance(p));
    }
    factor = std::max(1.0, ninety_of(std::move(others)));
  }
  for (RowPrediction& p : board.predictions) {
    p.own_low = p.low;
    p.own_high = p.high;
    if (!has_width(p)) continue;
    const double factor = factors.at(p.family);
    p.low = p.predicted * std::pow(p.low / p.predicted, factor);
    p.high = p.predicted * std::pow(p.high / p.predicted, factor);
  }
}

}  // namespace lockstep::tracer
