#include "tracer/emulate/scoreboard/scores.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace lockstep::tracer {
namespace {

double relative_error(double value, double truth) {
  return std::abs(value / truth - 1);
}

double mean_of(const std::vector<double>& values) {
  if (values.empty()) return NAN;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double nearest_rank(std::vector<double> values, double share) {
  if (values.empty()) return NAN;
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(share * static_cast<double>(values.size()));
  return values[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

bool has_time(const RowPrediction& p) { return p.is_predicted() && p.seconds > 0; }

/// What the rows of a series have in common: their row on one device, and all that
/// decides how they share its step.
auto series_of(const RowPrediction& p) {
  return std::tuple(p.family, p.row->role, p.row->mode, p.alone_line, p.row->metric,
                    p.row->bucket_cap);
}

double relative_speed(double devices, double seconds) { return devices / seconds; }

/// −1, 0 or 1: fewer, about as many, or more images per second.
int sign_between(double before, double after) {
  constexpr double kSame = 0.005;
  if (relative_error(after, before) < kSame) return 0;
  return after > before ? 1 : -1;
}

}  // namespace

Score score_of(const std::vector<const RowPrediction*>& predictions) {
  Score score;
  std::vector<double> errors, perfect, ring, described, covered, own_covered;
  for (const RowPrediction* p : predictions) {
    ++score.rows;
    score.anomalies += p->row->anomaly;
    if (!p->is_predicted() || p->row->anomaly) continue;
    const double value = p->row->value;
    errors.push_back(relative_error(p->predicted, value));
    perfect.push_back(relative_error(p->perfect, value));
    ring.push_back(relative_error(p->ring, value));
    covered.push_back(p->covered() ? 1 : 0);
    own_covered.push_back(p->own_low <= value && value <= p->own_high ? 1 : 0);
    if (!std::isnan(p->described)) {
      described.push_back(relative_error(p->described, value));
    }
  }
  score.predicted = static_cast<int>(errors.size());
  score.mean = mean_of(errors);
  score.p95 = nearest_rank(errors, 0.95);
  score.coverage = mean_of(covered);
  score.own_coverage = mean_of(own_covered);
  score.perfect = mean_of(perfect);
  score.ring = mean_of(ring);
  score.described = mean_of(described);
  return score;
}

Signs signs_of(const std::vector<const RowPrediction*>& predictions, bool anomalies) {
  using Series = decltype(series_of(std::declval<const RowPrediction&>()));
  std::map<Series, std::map<int, const RowPrediction*>> series;
  for (const RowPrediction* p : predictions) {
    if (!has_time(*p) || (p->row->anomaly && !anomalies)) continue;
    series[series_of(*p)].try_emplace(p->row->devices.value_or(1), p);
  }
  Signs signs;
  for (const auto& [key, by_devices] : series) {
    const RowPrediction* first = by_devices.begin()->second;
    double measured = relative_speed(1, first->alone_value), predicted = measured;
    for (const auto& [devices, p] : by_devices) {
      const double seconds = iteration_seconds(*p->row, p->batch);
      const double now = relative_speed(devices, seconds);
      const double expected = relative_speed(devices, p->seconds);
      const int sign = sign_between(measured, now);
      ++signs.steps;
      signs.negative += sign < 0;
      if (sign * sign_between(predicted, expected) < 0) {
        ++signs.wrong;
        signs.wrong_lines.push_back(p->row->line);
      }
      measured = now;
      predicted = expected;
    }
  }
  return signs;
}

std::vector<FamilyScore> family_scores(const Scoreboard& board) {
  std::map<std::string, FamilyScore> families;
  for (const RowPrediction& p : board.predictions) {
    const std::string name = p.row->role + ": " + p.family;
    families[name].name = name;
    families[name].predictions.push_back(&p);
  }
  std::vector<FamilyScore> result;
  for (auto& [name, family] : families) {
    family.score = score_of(family.predictions);
    family.signs = signs_of(family.predictions);
    result.push_back(std::move(family));
  }
  return result;
}

std::vector<std::pair<std::string, int>> reasons_not_predicted(
    const Scoreboard& board) {
  std::map<std::string, int> counts;
  for (const RowPrediction& p : board.predictions) {
    if (!p.is_predicted()) ++counts[p.why_not];
  }
  std::vector<std::pair<std::string, int>> result(counts.begin(), counts.end());
  std::stable_sort(result.begin(), result.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return result;
}

}  // namespace lockstep::tracer
