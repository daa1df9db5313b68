// `lockstep emulate --scoreboard FILE.csv`.
#pragma once

#include <string>

namespace lockstep::cli {

/// Predicts the rows of a table of published measurements and prints how wrong that
/// is, as text or as JSON. Writes every row to `csv` unless that is empty. Throws
/// std::runtime_error if a file cannot be read or written, or a row is wrong.
void run_scoreboard(const std::string& file, bool json, const std::string& csv);

}  // namespace lockstep::cli
