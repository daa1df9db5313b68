#include "lessons/machine/judge.h"

#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/tensor/tensor.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/own_code.h"
#include "lessons/machine/results.h"
#include "lessons/machine/stuck.h"
#include "lessons/plugin.h"

namespace lockstep::lessons {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Returns the exception being handled and its usual cause.
std::pair<std::string, std::string> about_exception() {
  const auto threw = [](const std::string& what) { return "your code threw: " + what; };
  try {
    throw;
  } catch (const std::bad_alloc& error) {
    return {std::string("an exception: ") + error.what(),
            "it requested more memory than is available: perhaps a size was never set "
            "or is negative"};
  } catch (const std::bad_function_call& error) {
    return {std::string("an exception: ") + error.what(),
            "an empty std::function was called"};
  } catch (const std::out_of_range& error) {
    return {std::string("an exception: ") + error.what(),
            "at() or substr() was called with an index past the end or a key that is "
            "not in the map"};
  } catch (const UndefinedTensor& error) {
    return {std::string("an exception: ") + error.what(),
            "an undefined Tensor was used: one that was declared but not assigned, an "
            "element of a vector that was resized but not filled, or the .grad() of a "
            "parameter that has none (check with defined())"};
  } catch (const std::exception& error) {
    return {std::string("an exception: ") + error.what(), ""};
  } catch (const char* text) {
    return {threw(text), ""};
  } catch (const std::string& text) {
    return {threw(text), ""};
  } catch (int number) {
    return {threw(std::to_string(number)), ""};
  } catch (...) {
    return {threw("a value that is not a std::exception"),
            "throw std::runtime_error(\"…\") so that its message can be shown"};
  }
}

/// Thrown if the learner's library cannot be judged at all.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Whether `lesson check --grade` started this process.
bool graded() { return std::getenv("LOCKSTEP_GRADED") != nullptr; }

/// Limits the number of processes and threads in the sandbox. Must not be called
/// outside it, where all of the user's processes would count.
void limit_processes() {
  const rlimit most{1024, 1024};
  ::setrlimit(RLIMIT_NPROC, &most);
}

/// The first test of every library: loads it.
void load(const Lesson& lesson, const std::string& library) {
  expect_written(lesson, library);
  if (graded()) expect_nothing_of_the_system(library);
  try {
    plug(library);
  } catch (const std::exception& error) {
    throw Refused(error.what());
  }
  expect_plugged(lesson);
}

/// Runs one test; returns its result as a JSON row.
Json run_test(const std::string& name, Exam& exam, const std::function<void()>& test) {
  exam.set_test(name);
  Json row{{"end", name}, {"status", "pass"}};
  const auto fail = [&](const char* status, const std::string& what,
                        const std::string& expected, const std::string& got,
                        const Because& because) {
    row["status"] = status;
    row["what"] = what;
    row["expected"] = expected;
    row["got"] = got;
    row["likely"] = because.likely;
    row["read"] = because.read;
    row["trace"] = fs::exists(exam.trace_file()) ? exam.trace_file() : "";
    row["event"] = because.event;
  };
  try {
    test();
  } catch (const Refused&) {
    throw;
  } catch (const Wrong& wrong) {
    fail("fail", wrong.what, wrong.expected, wrong.got, wrong.because);
  } catch (const NotWritten& nothing) {
    fail("fail", nothing.what(), "your code", "nothing yet", {});
  } catch (...) {
    const auto [got, likely] = about_exception();
    fail("fail", "", "no exception", got, {likely, ""});
  }
  return row;
}

}  // namespace

int judge(const Lesson& lesson, const Judging& files) {
  ResultsWriter results;
  if (graded()) limit_processes();
  const auto say = [&](const Json& row) { results.say(row); };
  const char* named = std::getenv("LOCKSTEP_NAMED_WORKSPACE");
  name_workspace_in_commands(named ? named : "");
  if (!files.tests.empty()) load_tests(files.tests, lesson.number);
  const std::vector<Test> tests = tests_of(lesson.number);
  if (lesson.compiled()) say({{"test", kOwnCode}, {"title", own_code_title(lesson)}});
  for (const Test& test : tests) say({{"test", test.name}, {"title", test.title}});
  Exam exam(files.library, files.traces, lesson.quiz ? read_text(files.library) : "");
  exam.set_lesson(lesson.number);
  const auto passes = [&](const std::string& name, const std::function<void()>& test) {
    say({{"begin", name}});
    const Json row = run_test(name, exam, test);
    say(row);
    return row["status"] == "pass";
  };
  try {
    bool passed =
        !lesson.compiled() || passes(kOwnCode, [&] { load(lesson, files.library); });
    for (const Test& test : tests) {  // later tests build on earlier ones
      passed = passed && passes(test.name, [&] { test.run(exam); });
      if (test.name == files.until) break;
    }
    say({{"complete", true}});
  } catch (const Refused& error) {
    say({{"refused", error.what()}});
  }
  return 0;
}

}  // namespace lockstep::lessons
