// Many constructed programs at once: how fast would 1, 2, 4, … devices be?
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/emulate.h"

namespace lockstep::tracer {

/// An option and the values that it takes in turn.
struct SweepAxis {
  std::string option;  ///< `devices`, `link-gb-per-s`, …
  std::vector<double> values;
};

/// Parses `devices=1,2,3` or `devices=1..64`: 1, 2, 4, … 64, doubling, and the last
/// one. Throws std::invalid_argument that names what is wrong and the options that can
/// be swept.
SweepAxis parse_sweep(std::string_view text);

/// One program, and its times.
struct SweepPoint {
  std::vector<double> values;  ///< by axis
  int devices = 1;
  int64_t step = 0;         ///< ns
  int64_t alone = 0;        ///< ns that one device takes for the recorded step
  int64_t batch = 0;        ///< of all devices
  int64_t batch_alone = 0;  ///< of the recorded step
  bool exact = true;        ///< see SymmetricStep

  /// Returns how many times as many images per second as the recorded step.
  double speed_up() const {
    if (step == 0 || batch_alone == 0) return 0;
    return static_cast<double>(alone) * static_cast<double>(batch) /
           (static_cast<double>(step) * static_cast<double>(batch_alone));
  }
};

/// Returns a point for each combination of values, the last axis varying fastest.
/// Throws as construct_ddp and emulate do.
std::vector<SweepPoint> sweep(const Trace& trace, const std::vector<SweepAxis>& axes,
                              const ConstructedProgram& program,
                              const EmulateOptions& options);

/// Returns a table: one axis gives rows with all numbers; two give the speed-ups, the
/// first axis down and the second across. More axes give one row per point.
std::string sweep_text(const std::vector<SweepAxis>& axes,
                       const std::vector<SweepPoint>& points);
/// Returns the same numbers as CSV with a heading, one row per point: the values that
/// vary, `devices`, `batch`, times in µs, images per second and the speed-up.
std::string sweep_csv(const std::vector<SweepAxis>& axes,
                      const std::vector<SweepPoint>& points);
Json sweep_json(const std::vector<SweepAxis>& axes,
                const std::vector<SweepPoint>& points);

}  // namespace lockstep::tracer
