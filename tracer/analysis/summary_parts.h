// What the files that write the summary's text share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/units.h"
#include "tracer/analysis/summary.h"

namespace lockstep::tracer {

inline constexpr size_t kMaxRows = 12;  ///< longer lists end with "… and N more"

inline std::string time_or_dash(int64_t time) { return time ? human_time(time) : "–"; }

/// Returns the tables of a group's collectives and, if it has several, of its ranks.
std::string communication_text(const StepGroup& group, bool imported);

}  // namespace lockstep::tracer
