#include "tracer/emulate/scoreboard/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace lockstep::tracer {
namespace {

/// Splits a CSV text into rows of fields.
class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& file)
      : text_(text), file_(file) {}

  bool more() {
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) skip();
    return at_ < text_.size();
  }

  CsvTable::Line line() {
    CsvTable::Line row{number_, {}};
    do {
      row.fields.push_back(field());
    } while (take(','));
    take('\r');
    if (at_ < text_.size() && text_[at_] != '\n') {
      throw std::runtime_error(
          fmt::format("{}: row {}: text after a closing quote; fix: double the quotes "
                      "inside a quoted field",
                      file_, row.number));
    }
    return row;
  }

 private:
  void skip() { number_ += text_[at_++] == '\n'; }

  bool take(char wanted) {
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    skip();
    return true;
  }

  std::string field() {
    if (take('"')) return quoted();
    const size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    std::string value(text_.substr(at_, end - at_));
    at_ = end;
    return value;
  }

  std::string quoted() {
    const int first = number_;
    std::string value;
    while (at_ < text_.size()) {
      if (!take('"')) {
        value += text_[at_];
        skip();
      } else if (!take('"')) {
        return value;
      } else {
        value += '"';
      }
    }
    throw std::runtime_error(
        fmt::format("{}: row {}: a quote is not closed; fix: close it", file_, first));
  }

  std::string_view text_;
  const std::string& file_;
  size_t at_ = 0;
  int number_ = 1;
};

}  // namespace

size_t CsvTable::column(std::string_view name) const {
  const auto found = std::find(columns.begin(), columns.end(), name);
  if (found != columns.end()) return static_cast<size_t>(found - columns.begin());
  throw std::runtime_error(
      fmt::format("{}: no column '{}'; fix: add it to the header, "
                  "which has {}",
                  file, name, fmt::join(columns, ", ")));
}

CsvTable parse_csv(std::string_view text, const std::string& file) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  CsvReader reader(text, file);
  CsvTable table{file, {}, {}};
  if (!reader.more()) {
    throw std::runtime_error(file + ": empty; fix: name a CSV file with a header");
  }
  table.columns = reader.line().fields;
  while (reader.more()) {
    CsvTable::Line line = reader.line();
    if (line.fields.size() != table.columns.size()) {
      throw std::runtime_error(
          fmt::format("{}: row {}: {} fields, but the header has {}; fix: quote fields "
                      "that contain commas",
                      file, line.number, line.fields.size(), table.columns.size()));
    }
    table.lines.push_back(std::move(line));
  }
  return table;
}

}  // namespace lockstep::tracer
