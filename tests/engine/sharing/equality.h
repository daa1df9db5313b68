// A matrix of equalities: each row compares two ways of training on the problems of the
// columns: all losses, gradients and final weights.
//
// What breaks the equality is a property of the row; that the problem has it is a
// property of the column. A cell without a reason must be equal, a cell with one must
// not. The tables are in tests/golden, and the book shows them;
// LOCKSTEP_UPDATE_GOLDENS=1 writes them.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <span>
#include <sstream>

#include "tests/engine/sharing/ways.h"

namespace lockstep::test {

/// What a problem has, or a way adds, that may break an equality.
enum Property : unsigned {
  kNothing = 0,
  kBatchNorm = 1,
  kDropout = 2,
  kUneven = 4,
  kAlways = 8,
};

struct Column {
  const char* name;
  unsigned has;
  Problem problem;
  bool features = false;  ///< the net has features and a classifier
};

struct Row {
  const char* name;
  const char* reference;
  Way way, other;
  unsigned broken_by;
  const char* why;              ///< with what breaks it
  bool exact = false;           ///< every operation is the same, in the same order
  bool needs_features = false;  ///< a cell of another net is `–`
};

inline constexpr double kEqual = 1e-12, kDifferent = 1e-7;

/// Returns the properties that break the row's equality in the column: `≠ b d u`.
inline std::string inequality(unsigned properties) {
  std::string text = "≠";
  if (properties & kBatchNorm) text += " b";
  if (properties & kDropout) text += " d";
  if (properties & kUneven) text += " u";
  return text;
}

/// Pads to a width in characters: `≠` has three bytes.
inline std::string padded(const std::string& text, size_t width) {
  const auto characters = std::count_if(text.begin(), text.end(),
                                        [](char c) { return (c & 0xC0) != 0x80; });
  return text + std::string(width - std::min<size_t>(width, characters), ' ');
}

inline std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

inline constexpr size_t kFirst = 18, kEach = 10;

/// Returns the cell of an equal pair: `bit-equal` where the row promises it. Another
/// pair may be bit-equal by chance, with one instruction set and not with another.
inline std::string equality(const Row& row, double difference) {
  if (row.exact && difference == 0) return "bit-equal";
  return difference < kEqual ? "1e-12" : "unclear";
}

/// The outcomes of one problem: each way trains once. Those of a whole net take
/// hundreds of megabytes.
class Outcomes {
 public:
  explicit Outcomes(const Column& column) : column_(column) {}

  const Outcome& of(const char* way, const Way& train) {
    const auto found = known_.find(way);
    if (found != known_.end()) return found->second;
    return known_.emplace(way, train(column_.problem)).first->second;
  }

  /// Drops the outcomes that these rows do not compare.
  void keep_for(std::span<const Row> rows) {
    std::erase_if(known_, [&](const auto& outcome) {
      return std::none_of(rows.begin(), rows.end(), [&](const Row& row) {
        return outcome.first == row.name || outcome.first == row.reference;
      });
    });
  }

 private:
  const Column& column_;
  std::map<std::string, Outcome> known_;
};

/// Returns the cell of a row, after it has been checked.
inline std::string cell(const Row& row, const Column& column, Outcomes& outcomes) {
  if (row.needs_features && !column.features) return "–";
  const Outcome& mine = outcomes.of(row.name, row.way);
  const double found = difference(mine, outcomes.of(row.reference, row.other));
  const unsigned reason = row.broken_by & (column.has | kAlways);
  const bool differs = found > kDifferent;
  EXPECT_EQ(differs, reason != kNothing)
      << row.name << " and " << row.reference << " on " << column.name << " differ by "
      << found;
  if (row.exact && !reason) {
    EXPECT_EQ(found, 0) << row.name << " on " << column.name;
  }
  return differs ? inequality(reason) : equality(row, found);
}

/// Returns the table, and why what is unequal is so.
inline std::string table(const std::vector<Column>& columns,
                         const std::vector<Row>& rows) {
  std::string head = padded("way", kFirst) + padded("as", kFirst);
  std::vector<std::string> lines;
  std::string reasons = "\n";
  for (const Row& row : rows) {
    lines.push_back(padded(row.name, kFirst) + padded(row.reference, kFirst));
    if (*row.why) {
      reasons += fmt::format("{} is not {}: {}\n", row.name, row.reference, row.why);
    }
  }
  for (const Column& column : columns) {
    head += padded(column.name, kEach);
    Outcomes outcomes(column);
    for (size_t i = 0; i < rows.size(); ++i) {
      lines[i] += padded(cell(rows[i], column, outcomes), kEach);
      outcomes.keep_for(std::span(rows).subspan(i + 1));
    }
  }
  std::string text = trimmed(head);
  for (const std::string& line : lines) text += trimmed(line);
  return text + reasons;
}

/// Compares a table with the one in tests/golden.
inline void expect_committed(const std::string& file, const std::string& found) {
  const std::string path = LOCKSTEP_SOURCE_DIR "/tests/golden/" + file;
  if (std::getenv("LOCKSTEP_UPDATE_GOLDENS")) std::ofstream(path) << found;
  std::ostringstream committed;
  committed << std::ifstream(path).rdbuf();
  EXPECT_EQ(found, committed.str());
}

}  // namespace lockstep::test
