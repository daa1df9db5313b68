// The output of `lockstep emulate --sweep`.
#pragma once

#include <string>
#include <vector>

#include "tracer/emulate/sweep.h"

namespace lockstep::cli {

/// Where the points of a sweep go, besides standard output.
struct SweepFiles {
  std::string csv;   ///< "": none
  std::string plot;  ///< NAME: writes NAME.gp, NAME.svg and NAME.png; "": none
};

/// Throws UsageError if a plot is wanted, but no axis is `devices`.
void require_plottable(const std::vector<tracer::SweepAxis>& axes,
                       const SweepFiles& files);

/// Writes the files, and prints a line for each: to standard error if `json`. Without
/// gnuplot, nothing is drawn, and one line says so.
void write_sweep(const std::vector<tracer::SweepAxis>& axes,
                 const std::vector<tracer::SweepPoint>& points, const SweepFiles& files,
                 const std::string& heading, bool json);

}  // namespace lockstep::cli
