// A published measurement: a row of a table of measurements, read and judged.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tracer/emulate/scoreboard/table.h"

namespace lockstep::tracer {

/// In what a value is measured.
enum class Measure {
  seconds,       ///< per iteration; other units of time are converted
  images,        ///< per second, of all devices
  images_each,   ///< per second, of each device
  efficiency,    ///< per cent of perfect scaling
  bucket_bytes,  ///< bytes of one of DDP's buckets
  other,         ///< nothing that the emulator predicts
};

/// How work is shared.
enum class Sharing { single, dp, ddp, collective, server, pipeline, unknown };

struct PublishedRow {
  int line = 0;  ///< of the file
  std::string source, model, framework, mode, gpu, interconnect, precision, metric;
  std::string role;      ///< `validate-ddp`: what the row is for
  std::string notes;     ///< without the role
  std::string evidence;  ///< `read` or `recalled`
  std::string printed;   ///< the value as the file has it
  int decimals = 0;  ///< printed digits after the point, in the row's table and metric
  std::optional<int> devices;
  std::optional<double> batch;  ///< of all devices, in images
  bool anomaly = false;         ///< must not be fitted

  Measure unit = Measure::other;
  double value = 0;   ///< in `unit`
  double factor = 1;  ///< what the printed value was multiplied by
  Sharing sharing = Sharing::unknown;
  int64_t bucket_cap = 0;             ///< bytes; 0: not stated
  int stages = 0, micro_batches = 0;  ///< of a pipeline; 0: not stated

  /// Returns whether the row is one to predict: its role begins with `validate-` or is
  /// `golden-bucket` or `input-bound`.
  bool scored() const;
  /// Returns the batch of each device, if it is stated.
  std::optional<double> batch_each() const;
  /// Returns half a unit of the last digit that its table prints, in `unit`.
  double resolution() const;
  /// Returns the bytes of a gradient of one parameter.
  int64_t gradient_bytes() const;
  /// Returns the part of the source before the first space: a repository or a paper.
  std::string repository() const;
};

/// Reads all rows of a table. Throws std::runtime_error that names the row, the column
/// and the fix if a column is missing, a row has no role, or a number of a scored row
/// is not one. Rows that are not scored may have any text as their value.
std::vector<PublishedRow> published_rows(const CsvTable& table);

}  // namespace lockstep::tracer
