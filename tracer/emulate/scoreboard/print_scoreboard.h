// A scoreboard as text, as JSON, and as a CSV file of all its rows.
#pragma once

#include <string>

#include "tracer/emulate/scoreboard/scores.h"
#include "tracer/format/args.h"

namespace lockstep::tracer {

/// Returns the scores of families and goals, claims of other systems, the rows that
/// were not predicted by reason, and the largest errors.
std::string scoreboard_text(const Scoreboard& board);

/// Returns the same, and every row.
Json scoreboard_json(const Scoreboard& board);

/// Returns a line for each scored row that is not a row on one device: what was
/// measured, what was predicted, the interval, the baselines, the lines of the rows
/// that it was predicted from, and the parts of the predicted step in ms.
std::string scoreboard_csv(const Scoreboard& board);

/// Returns one line per family: its name, rows predicted, mean error, coverage and
/// wrong signs.
std::string scoreboard_summary(const Scoreboard& board);

}  // namespace lockstep::tracer
