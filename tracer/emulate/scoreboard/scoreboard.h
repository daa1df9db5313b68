// Published measurements, predicted: each row from its own step on one device and at
// most one row of several devices, of another model.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "tracer/emulate/scoreboard/alone.h"
#include "tracer/emulate/scoreboard/fit.h"
#include "tracer/emulate/scoreboard/published_row.h"

namespace lockstep::tracer {

/// A scored row and what was predicted for it. Values are in the row's unit.
struct RowPrediction {
  const PublishedRow* row = nullptr;
  std::string family;   ///< rows of one machine: repository, device, links, framework
  std::string why_not;  ///< why nothing was predicted; "" if something was
  double batch = 0;     ///< images of each device
  double predicted = 0, low = 0, high = 0;  ///< and the 90 % interval
  double own_low = 0, own_high = 0;         ///< the interval before widen_intervals()
  double perfect = 0;                       ///< baseline: perfect scaling
  double ring = 0;     ///< baseline: a ring whose messages nothing hides
  int alone_line = 0;  ///< the row on one device
  int fit_line = 0;    ///< the row of several devices that was fitted; 0: none
  std::string alone_note;
  bool hooked = false;  ///< the row on one device has DDP's hooks
  StepParts parts;
  double alone_value = 0;  ///< the step on one device, in seconds
  double seconds = 0;      ///< predicted
  /// With a bucket cap other than 25 MiB: speed relative to 25 MiB, minus 1, predicted
  /// and as the notes give it. NaN: not stated.
  double cap_change = NAN, cap_change_stated = NAN;
  /// DataParallel: the value if all rows of the machine and precision are fitted. This
  /// describes the rows; it does not predict them. NaN: another mode.
  double described = NAN;

  bool is_predicted() const { return why_not.empty(); }
  /// Returns the signed error of the prediction, relative to the row's value.
  double error() const { return predicted / row->value - 1; }
  /// Returns whether the value lies in the interval. Half a unit of its last printed
  /// digit belongs to the interval, not to the value.
  bool covered() const { return low <= row->value && row->value <= high; }
};

/// All rows of a table of measurements, in the order of the table.
struct Scoreboard {
  std::vector<PublishedRow> rows;
  std::vector<RowPrediction> predictions;  ///< of the scored rows
};

/// Predicts each scored row. Rows with ANOMALY are predicted, but nothing is fitted to
/// them. Which row is fitted depends on what the rows are, never on their values: of
/// the same machine and mode, another model; then the same precision, metric and bucket
/// cap; then the nearest number of parameter tensors; then one machine; then the most
/// devices. So all rows of a model are predicted from the same row.
Scoreboard score(std::vector<PublishedRow> rows);

/// Returns the name of a row's family.
std::string family_of(const PublishedRow& row);

/// Returns how the row's program shares its step. REQUIRES: `net` outlives the result.
StepSetting setting_of(const PublishedRow& row, const Net& net, const Alone& alone,
                       double forward_share);

/// Spread of repeated one-device rows of the tables, relative.
inline constexpr double kRepeatability = 0.005;

}  // namespace lockstep::tracer
