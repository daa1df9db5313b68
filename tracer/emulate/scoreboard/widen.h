// Intervals that other machines' values have checked.
#pragma once

#include "tracer/emulate/scoreboard/scoreboard.h"

namespace lockstep::tracer {

/// Widens each interval by a factor, the same in both directions of its logarithm: how
/// many half-widths 90 % of the values of all *other* families are away from their
/// predictions, at least 1. So no row of a machine has a part in its own intervals.
/// Predictions stay as they are; rows with ANOMALY, and intervals of no width, take no
/// part.
void widen_intervals(Scoreboard& board);

}  // namespace lockstep::tracer
