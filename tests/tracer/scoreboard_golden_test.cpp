// The scoreboard of the published measurements, family by family: it may only get
// better. After an improvement, write the golden file again:
//
//   LOCKSTEP_WRITE_GOLDEN=1 tracer_test --gtest_filter='ScoreboardGolden.*'
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "tracer/emulate/scoreboard/print_scoreboard.h"

namespace lockstep::tracer {
namespace {

std::string scoreboard_file(const std::string& name) {
  std::ifstream stream(std::string(LOCKSTEP_SOURCE_DIR) + "/" + name);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A line of the summary: `family | 4 of 4 | 3.9 | 75.0 | 0`.
struct FamilyLine {
  int predicted = 0, wrong_signs = 0;
  double mean = 0;
};

std::map<std::string, FamilyLine> family_lines(const std::string& text) {
  std::map<std::string, FamilyLine> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    std::vector<std::string> fields;
    for (size_t at = 0, next; at <= line.size(); at = next + 3) {
      next = std::min(line.find(" | ", at), line.size());
      fields.push_back(line.substr(at, next - at));
    }
    if (fields.size() != 5) continue;
    lines[fields[0]] = {std::atoi(fields[1].c_str()), std::atoi(fields[4].c_str()),
                        fields[2] == "-" ? 0 : std::atof(fields[2].c_str())};
  }
  return lines;
}

TEST(ScoreboardGolden, FamiliesOnlyGetBetter) {
  const std::string table = scoreboard_file("tracer/emulate/scoreboard/published.csv");
  const Scoreboard board = score(published_rows(parse_csv(table, "published.csv")));
  const std::string golden = "tests/golden/scoreboard.txt";
  if (std::getenv("LOCKSTEP_WRITE_GOLDEN")) {
    std::ofstream(std::string(LOCKSTEP_SOURCE_DIR) + "/" + golden)
        << scoreboard_summary(board);
  }
  const auto before = family_lines(scoreboard_file(golden));
  const auto now = family_lines(scoreboard_summary(board));
  EXPECT_GT(before.size(), 40u);
  constexpr double kRounding = 0.11;  // per cent
  for (const auto& [name, line] : before) {
    ASSERT_TRUE(now.contains(name)) << name;
    EXPECT_GE(now.at(name).predicted, line.predicted) << name;
    EXPECT_LE(now.at(name).mean, line.mean + kRounding) << name;
    EXPECT_LE(now.at(name).wrong_signs, line.wrong_signs) << name;
  }
}

}  // namespace
}  // namespace lockstep::tracer
