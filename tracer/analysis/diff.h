// `trace diff`: two traces side by side, per training step.
#pragma once

#include <string>
#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// One number of both traces, as a mean over their complete training steps.
struct DiffRow {
  enum class Unit { time, bytes, count };
  std::string
      section;  ///< `time`, `phases`, `bytes by reason`, `events`, `peak memory`
  std::string name;
  Unit unit = Unit::count;
  double a = 0, b = 0;  ///< ns, bytes or how many; 0 where a trace has no such thing
};

struct TraceDiff {
  std::string clock_a, clock_b;  ///< times compare only when these are equal
  std::vector<DiffRow> rows;
};

TraceDiff diff_traces(const Trace& a, const Trace& b);

std::string diff_text(const TraceDiff& diff, const std::string& name_a,
                      const std::string& name_b);
Json diff_json(const TraceDiff& diff);

}  // namespace lockstep::tracer
