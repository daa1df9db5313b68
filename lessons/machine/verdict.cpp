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
    text += fmt::format("    {:<9} {} view {}{}\n", "see", program(),
                        shell_word(test.trace), at);
  }
  return text;
}

/// Returns the heading of the checkpoint that begins with this test; "" if none does.
std::string heading_before(const TestResult& test, const Verdict& verdict,
                           const Paint& paint) {
  const auto& stages = verdict.checkpoints;
  const auto found = std::ranges::find(stages, test.name, &CheckpointResult::first);
  if (found == stages.end()) return "";
  const std::string title =
      fmt::format("Checkpoint {} of {}: {}", found - stages.begin() + 1, stages.size(),
                  found->title);
  const std::string state =
      found->passed ? paint("32", "✓") : fmt::format("({} min)", found->minutes);
  return (found == stages.begin() ? "" : "\n") + std::string("  ") + paint("1", title) +
         " " + state + "\n";
}

}  // namespace

void judge_checkpoints(const Lesson& lesson, Verdict& verdict) {
  auto test = verdict.tests.begin();
  bool passed = true;
  for (const Checkpoint& stage : lesson.checkpoints) {
    CheckpointResult result{stage.title, stage.minutes, "", stage.until};
    if (test != verdict.tests.end()) result.first = test->name;
    bool ended = false;
    for (; !ended && test != verdict.tests.end(); ++test) {
      passed = passed && test->status == "pass";
      ended = test->name == stage.until;
    }
    result.passed = passed && ended;
    verdict.checkpoints.push_back(std::move(result));
  }
}

int passed_checkpoints(const Verdict& verdict) {
  return static_cast<int>(
      std::ranges::count(verdict.checkpoints, true, &CheckpointResult::passed));
}

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
  nlohmann::ordered_json checkpoints = nlohmann::ordered_json::array();
  for (const CheckpointResult& stage : verdict.checkpoints) {
    checkpoints.push_back({{"title", stage.title},
                           {"until", stage.last},
                           {"status", stage.passed ? "pass" : "fail"}});
  }
  return {{"version", 1},
          {"lesson", lesson.slug},
          {"status", verdict.status},
          {"message", verdict.message},
          {"output", verdict.output},
          {"tests", tests},
          {"checkpoints", checkpoints},
          {"checkpoint", verdict.asked},
          {"build_seconds", verdict.build_seconds},
          {"run_seconds", verdict.run_seconds}};
}

std::string verdict_text(const Lesson& lesson, const Verdict& verdict, bool colours,
                         bool next) {
  const Paint paint(colours);
  std::string text = paint("1", lesson.slug + "  " + lesson.title) + "\n\n";
  bool explained = false;  // show one failure at a time
  for (const TestResult& test : verdict.tests) {
    text += heading_before(test, verdict, paint);
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
  const int stages = static_cast<int>(verdict.checkpoints.size());
  if (verdict.status == "pass" && verdict.asked > 0 && verdict.asked < stages) {
    text +=
        paint("32", fmt::format("Checkpoint {} of {} passed.", verdict.asked, stages)) +
        fmt::format(" Next: {}\n", verdict.checkpoints[verdict.asked].title);
  } else if (verdict.status == "pass") {
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
