// A CSV file with a header, as RFC 4180 has it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::tracer {

/// The rows of a CSV file. A row knows the line of the file on which it begins.
struct CsvTable {
  struct Line {
    int number = 0;  ///< 1 is the header's
    std::vector<std::string> fields;
  };
  std::string file;
  std::vector<std::string> columns;
  std::vector<Line> lines;

  /// Returns the index of a column. Throws std::runtime_error that names the file, the
  /// missing column and those that are there.
  size_t column(std::string_view name) const;
};

/// Parses a table. Fields may be quoted; a quoted field may contain commas, line breaks
/// and doubled quotes. Empty lines are skipped. Throws std::runtime_error that names
/// the file and the line if a row has another number of fields than the header, a quote
/// is not closed, or there is no header.
CsvTable parse_csv(std::string_view text, const std::string& file);

}  // namespace lockstep::tracer
