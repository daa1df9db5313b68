// The step on one device to which a row of several devices is compared.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tracer/emulate/scoreboard/published_row.h"

namespace lockstep::tracer {

struct Alone {
  double seconds = 0;          ///< of a step at `batch`
  double batch = 0;            ///< images of each device
  bool hooked = false;         ///< measured with DDP's hooks
  int line = 0;                ///< of the row on one device
  double resolution = 0;       ///< relative, of the printed value
  double log_sd = 0;           ///< of what was not measured but interpolated
  bool batch_assumed = false;  ///< no row states the batch
  std::string note;            ///< how it was found, if not simply read; else ""
};

/// Finds steps on one device.
class AloneRows {
 public:
  explicit AloneRows(const std::vector<PublishedRow>& rows) : rows_(rows) {}

  /// Returns the step on one device of the same repository, framework, device, model
  /// and precision, at the batch of each of `row`'s devices: measured, interpolated
  /// between two measured batches, or converted from another measured batch by the
  /// ratio of the two on other devices of the table. Nothing is extrapolated: then
  /// `why_not` says what is missing. A row of DDP on one device is preferred for DDP.
  std::optional<Alone> find(const PublishedRow& row, std::string& why_not) const;

  /// Returns which part of a step is the forward pass: the median of the table's
  /// devices at that batch, or 1/3 if none measured the two passes.
  double forward_share(const std::string& model, double batch) const;

 private:
  std::vector<const PublishedRow*> candidates(const PublishedRow& row) const;
  std::optional<Alone> between(const std::vector<const PublishedRow*>& found,
                               double batch) const;
  std::optional<Alone> by_shape(const PublishedRow& known, const std::string& model,
                                double batch) const;

  const std::vector<PublishedRow>& rows_;
};

/// Returns the seconds of one iteration; `batch` is that of each device.
double iteration_seconds(const PublishedRow& row, double batch);

/// Returns a row's value from the seconds of one iteration.
double value_of(const PublishedRow& row, double seconds, double batch);

}  // namespace lockstep::tracer
