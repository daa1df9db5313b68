// Which batch makes N devices 1.9 times as fast as one?
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/emulate.h"

namespace lockstep::tracer {

/// What a batch gives.
struct BatchPoint {
  int64_t batch = 0;  ///< of all devices, the same number on each
  int64_t step = 0;   ///< ns
  double gain = 0;    ///< images/s, against one device with the batch of the trace
};

struct BatchFor {
  double goal = 0;
  int devices = 1;
  int64_t batch_alone = 0, step_alone = 0;  ///< of one device; ns
  /// The points that were computed, by batch: those of all recorded batches and, where
  /// the goal lies between two of them, those that led to the answer.
  std::vector<BatchPoint> points;

  /// Returns the first point that reaches the goal, or null.
  const BatchPoint* answer() const;
};

/// Parses `1.9x` or `1.9`. Throws std::invalid_argument that names the text.
double parse_gain(std::string_view text);

/// Searches the batches of `program.devices` devices, the same on each, from the
/// smallest to the largest that `trace` and `program.further` recorded. Between two
/// recorded batches of which only the larger reaches the goal, it bisects: the answer's
/// neighbour, one image less on each device, does not reach it. Nothing is
/// extrapolated. Throws as construct() and emulate() do.
BatchFor batch_for(const Trace& trace, double goal, const ConstructedProgram& program,
                   const EmulateOptions& options);

std::string batch_for_text(const BatchFor& found);
Json batch_for_json(const BatchFor& found);

}  // namespace lockstep::tracer
