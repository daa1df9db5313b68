// The rows of a judged process, read in the process that judges.
#include "lessons/machine/results.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>

namespace lockstep::lessons {
namespace {

using Json = nlohmann::ordered_json;

/// Makes a reader's end of the socket the standard input while it lives.
class AsStandardInput {
 public:
  explicit AsStandardInput(const ResultsReader& reader) : before_(::dup(STDIN_FILENO)) {
    ::dup2(reader.for_process(), STDIN_FILENO);
  }
  ~AsStandardInput() { ::dup2(before_.get(), STDIN_FILENO); }

 private:
  Fd before_;
};

std::vector<Json> rows_of(ResultsReader& reader, const std::vector<Json>& rows) {
  {
    const AsStandardInput redirected(reader);
    ResultsWriter writer;
    for (const Json& row : rows) writer.say(row);
  }
  return reader.read();
}

TEST(LessonResults, ArriveInOrder) {
  ResultsReader reader;
  const auto rows = rows_of(reader, {{{"test", "first"}, {"passed", true}},
                                     {{"test", "second"}, {"passed", false}}});
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[0]["test"], "first");
  EXPECT_EQ(rows[1]["passed"], false);
  EXPECT_FALSE(reader.forged());
}

TEST(LessonResults, LongTextsAreCutSoThatTheSocketHoldsAllRows) {
  ResultsReader reader;
  const std::string longest(8192, 'a');
  const std::vector<Json> said(
      128, {{"test", longest}, {"why", longest + std::string(1 << 20, 'b')}});
  const auto rows = rows_of(reader, said);
  ASSERT_EQ(rows.size(), said.size());
  EXPECT_EQ(rows[0]["test"], longest);
  EXPECT_EQ(rows[0]["why"], longest + " …");
  EXPECT_EQ(rows[127]["why"], longest.substr(0, 256) + " …");
}

TEST(LessonResults, RowsWithoutTheirTokenAreForged) {
  ResultsReader reader;
  const std::string row = "{\"test\": \"all\", \"passed\": true, \"token\": \"1\"}\n";
  ASSERT_EQ(::write(reader.for_process(), row.data(), row.size()), row.size());
  EXPECT_TRUE(reader.read().empty());
  EXPECT_TRUE(reader.forged());
}

}  // namespace
}  // namespace lockstep::lessons
