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
};

struct Row {
  const char* name;
  const char* reference;
  Way way, other;
  unsigned broken_by;
  const char* why;     ///< with what breaks it
  bool exact = false;  ///< every operation is the same, in the same order
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

/// Trains with each way once per problem, in the order of the rows.
class Outcomes {
 public:
  const Outcome& of(const char* way, const Way& train, const Column& column) {
    const auto key = std::pair<std::string, std::string>(way, column.name);
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
    return known_.emplace(key, train(column.problem)).first->second;
  }

 private:
  std::map<std::pair<std::string, std::string>, Outcome> known_;
};

/// Returns the table, and why what is unequal is so.
inline std::string table(const std::vector<Column>& columns,
                         const std::vector<Row>& rows) {
  Outcomes outcomes;
  std::string text = padded("way", kFirst) + padded("as", kFirst);
  for (const Column& column : columns) text += padded(column.name, kEach);
  text = trimmed(text);
  std::string reasons = "\n";
  for (const Row& row : rows) {
    std::string line = padded(row.name, kFirst) + padded(row.reference, kFirst);
    for (const Column& column : columns) {
      const Outcome& mine = outcomes.of(row.name, row.way, column);
      const Outcome& theirs = outcomes.of(row.reference, row.other, column);
      const double found = difference(mine, theirs);
      const unsigned reason = row.broken_by & (column.has | kAlways);
      const bool differs = found > kDifferent;
      EXPECT_EQ(differs, reason != kNothing)
          << row.name << " and " << row.reference << " on " << column.name
          << " differ by " << found;
      if (row.exact && !reason) {
        EXPECT_EQ(found, 0) << row.name << " on " << column.name;
      }
      line += padded(differs ? inequality(reason) : equality(row, found), kEach);
    }
    text += trimmed(line);
    if (*row.why) {
      reasons += fmt::format("{} is not {}: {}\n", row.name, row.reference, row.why);
    }
  }
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
