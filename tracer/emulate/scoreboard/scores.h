// How wrong the predictions are: by family, and by goal.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tracer/emulate/scoreboard/scoreboard.h"

namespace lockstep::tracer {

/// A number of predictions, and how wrong they are. Rows with ANOMALY are counted, and
/// nothing else. Errors are relative and absolute: 0.05 is 5 %. Without predicted rows
/// they are NaN.
struct Score {
  int rows = 0;                      ///< scored rows
  int anomalies = 0;                 ///< of these, marked ANOMALY
  int predicted = 0;                 ///< without anomalies
  double mean = NAN, p95 = NAN;      ///< of the absolute error; p95 by nearest rank
  double coverage = NAN;             ///< the share of values in their intervals
  double own_coverage = NAN;         ///< … before they were widened
  double perfect = NAN, ring = NAN;  ///< mean absolute error of the baselines
  double described = NAN;            ///< of a fit to all rows (DataParallel)
};

Score score_of(const std::vector<const RowPrediction*>& predictions);

/// Whether more devices are faster. A series is a model on 1, 2, … devices.
struct Signs {
  int steps = 0;     ///< from one number of devices to the next larger one
  int negative = 0;  ///< of these: more devices gave fewer images per second
  int wrong = 0;     ///< the prediction has the other sign
  std::vector<int> wrong_lines;  ///< the rows with more devices
};

/// Differences below half a per cent have no sign. Anomalies take part only if
/// `anomalies`.
Signs signs_of(const std::vector<const RowPrediction*>& predictions,
               bool anomalies = false);

/// The predictions of a family, in the order of the table.
struct FamilyScore {
  std::string name;
  std::vector<const RowPrediction*> predictions;
  Score score;
  Signs signs;
};

/// Returns the families by name; a family's modes are apart.
std::vector<FamilyScore> family_scores(const Scoreboard& board);

/// One goal: a number, and what it should be.
struct GoalScore {
  std::string id, what, unit;
  double value = NAN;  ///< in `unit`; NaN: nothing was predicted
  double p95 = NAN;    ///< where the goal has one
  double reach = NAN, beat = NAN;
  int rows = 0;
  std::string best_known;  ///< the best known figure, and whose
  bool reached() const { return value <= reach; }
};

std::vector<GoalScore> goal_scores(const Scoreboard& board);

/// Reasons why rows were not predicted, and how many rows each has.
std::vector<std::pair<std::string, int>> reasons_not_predicted(const Scoreboard& board);

}  // namespace lockstep::tracer
