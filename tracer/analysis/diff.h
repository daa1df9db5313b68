// `trace diff`: compares two traces, per training step.
#pragma once

#include <string>
#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// One value of both traces, as a mean over their complete training steps.
struct DiffRow {
  enum class Unit { time, bytes, count };
  std::string
      section;  ///< `time`, `phases`, `bytes by reason`, `events`, `peak memory`
  std::string name;
  Unit unit = Unit::count;
  double a = 0, b = 0;  ///< ns, bytes or a count; 0 if a trace does not have it
};

struct TraceDiff {
  /// Times can be compared only if these are equal; `none`: null devices, and neither
  /// trace's times are in the rows.
  std::string clock_a, clock_b;
  std::vector<DiffRow> rows;
};

TraceDiff diff_traces(const Trace& a, const Trace& b);

std::string diff_text(const TraceDiff& diff, const std::string& name_a,
                      const std::string& name_b);
Json diff_json(const TraceDiff& diff);

}  // namespace lockstep::tracer
