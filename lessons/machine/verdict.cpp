#include "lessons/machine/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/program.h"
#include "lessons/machine/workspace.h"

namespace lockstep::lessons {
namespace {

constexpr size_t kColumns = 80, kMostLines = 30;

/// Wraps `text` at kColumns; indents all lines except the first by `indent` spaces.
std::string wrapped(const std::string& text, size_t indent) {
  std::string result, line;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!line.empty() && indent + line.size() + 1 + word.size() > kColumns) {
      result += line + "\n" + std::string(indent, ' ');
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return result + line;
}

std::string indented(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  size_t count = 0;
  for (std::string line; std::getline(lines, line) && count < kMostLines; ++count) {
    result += "  | " + line + "\n";
  }
  if (count == kMostLines) result += "  | …\n";
  return result;
}

class Paint {
 public:
  explicit Paint(bool on) : on_(on) {}
  std::string operator()(const char* code, const std::string& text) const {
    return on_ ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
  }

 private:
  bool on_;
};

std::string details(const TestResult& test) {
  std::string text;
  const auto row = [&](const char* name, const std::string& content) {
    if (!content.empty())
      text += fmt::format("    {:<9} {}\n", name, wrapped(content, 14));
  };
  row("about", test.what);
  row("expected", test.expected);
  row("got", test.got);
  row("likely", test.likely);
  if (!test.read.empty()) row("read", "the chapter, “" + test.read + "”");
  if (!test.trace.empty()) {
    const std::string at =
        test.event >= 0 ? fmt::format(" --at '#{}'", test.event) : "";
    text += fmt::format("    {:<9} {} view {}{}\n", "see", program(), test.trace, at);
  }
  return text;
}

}  // namespace

nlohmann::ordered_json verdict_json(const Lesson& lesson, const Verdict& verdict) {
  nlohmann::ordered_json tests = nlohmann::ordered_json::array();
  for (const TestResult& test : verdict.tests) {
    nlohmann::ordered_json row{
        {"name", test.name}, {"title", test.title}, {"status", test.status}};
    const auto add = [&](const char* key, const std::string& value) {
      if (!value.empty()) row[key] = value;
    };
    add("about", test.what);
    add("expected", test.expected);
    add("got", test.got);
    add("likely", test.likely);
    add("read", test.read);
    add("trace", test.trace);
    if (test.event >= 0) row["event"] = test.event;
    tests.push_back(std::move(row));
  }
  return {{"version", 1},
          {"lesson", lesson.slug},
          {"status", verdict.status},
          {"message", verdict.message},
          {"output", verdict.output},
          {"tests", tests},
          {"build_seconds", verdict.build_seconds},
          {"run_seconds", verdict.run_seconds}};
}

std::string verdict_text(const Lesson& lesson, const Verdict& verdict, bool colours,
                         bool next) {
  const Paint paint(colours);
  std::string text = paint("1", lesson.slug + "  " + lesson.title) + "\n\n";
  bool explained = false;  // show one failure at a time
  for (const TestResult& test : verdict.tests) {
    if (test.status == "pass") {
      text += "  " + paint("32", "✓") + " " + test.title + "\n";
    } else if (test.status == "not_run" || explained) {
      text += "  " + paint("2", "· " + test.title) + "\n";
    } else {
      text += "  " + paint("31", "✗ " + test.title) + "\n" + details(test);
      explained = true;
    }
  }
  if (!verdict.tests.empty()) text += "\n";
  if (!verdict.message.empty()) text += wrapped(verdict.message, 0) + "\n";
  if (!verdict.output.empty()) {
    const bool compiling = verdict.tests.empty();
    text += (compiling ? "" : "What was printed:\n") + indented(verdict.output) + "\n";
  }
  if (verdict.status == "pass") {
    text += paint("32", "Passed.");
    if (next) {
      text +=
          " Now compare: " + lesson_command(fmt::format("solution {}", lesson.number));
    }
    text += "\n";
  } else if (next) {
    text += fmt::format("Stuck? {}\n",
                        lesson_command(fmt::format("hint {}", lesson.number)));
  }
  return text;
}

}  // namespace lockstep::lessons
