#include "lessons/machine/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/program.h"
#include "engine/tensor/tensor.h"
#include "lessons/machine/contain.h"
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

/// The first test of every library: loads it.
void load(const Lesson& lesson, const std::string& library) {
  expect_written(lesson, library);
  try {
    plug(library);
  } catch (const std::exception& error) {
    throw Refused(error.what());
  }
  expect_plugged(lesson);
}

/// Runs one test; returns its result as a JSON line.
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

/// What the judged process reported before it ended.
struct Reported {
  std::string running;  ///< the test that had not ended
  bool complete = false;
};

Reported read_results(const std::vector<Json>& rows, Verdict& verdict) {
  Reported reported;
  for (const Json& row : rows) {
    if (row.contains("begin")) reported.running = row["begin"];
    if (row.contains("complete")) reported.complete = true;
    if (row.contains("refused")) {
      verdict.message = row["refused"];
      reported = {"", true};
    }
    if (row.contains("test")) verdict.tests.push_back({row["test"], row["title"]});
    for (TestResult& test : verdict.tests) {
      if (test.name != row.value("end", "")) continue;
      reported.running.clear();
      test.status = row["status"];
      test.what = row.value("what", "");
      test.expected = row.value("expected", "");
      test.got = row.value("got", "");
      test.likely = row.value("likely", "");
      test.read = row.value("read", "");
      test.trace = row.value("trace", "");
      test.event = row.value("event", int64_t{-1});
    }
  }
  return reported;
}

/// Explains a signal that the code received.
std::string about_signal(int number) {
  switch (number) {
    case SIGSEGV:
    case SIGBUS:
      return "your code accessed invalid memory: an index past the end, a dangling "
             "pointer, or endless recursion";
    case SIGFPE:
      return "your code divided an integer by zero";
    case SIGABRT:
      return "your code was stopped by a check in the standard library (an index out "
             "of range, or a mutex or memory used incorrectly), or by an uncaught "
             "exception in a thread";
    case SIGXFSZ:
      return "your code wrote a file larger than 1 GiB";
    default:
      return fmt::format("your code was terminated by signal {} ({})", number,
                         strsignal(number));
  }
}

std::string about_end(const Ended& ended, const Limits& limits, const Lesson& lesson,
                      Sanitizer sanitizer, const std::vector<std::string>& places,
                      const std::string& running) {
  if (ended.timed_out) {
    const std::string where =
        places.empty() ? "" : fmt::format(" It was at {}.", fmt::join(places, ", "));
    return fmt::format(
        "it did not finish within {} s: there is an endless loop, or a thread waits "
        "for an event that never happens.{}",
        limits.seconds, where);
  }
  if (sanitizer != Sanitizer::none) {
    return "the sanitizer's report is printed below; look for the first line that "
           "names your own file.";
  }
  const std::string more = fmt::format(
      " To see where: {}",
      lesson_command(fmt::format("check {} --sanitize address", lesson.number)));
  const std::string while_loaded =
      running == kOwnCode ? ", while it was loaded: look at the constructors of your "
                            "global objects"
                          : "";
  if (ended.exit_code > 128) return about_signal(ended.exit_code - 128) + "." + more;
  return fmt::format("your code terminated the whole program with exit code {}{}.{}",
                     ended.exit_code, while_loaded, more);
}

/// Returns the last test of a checkpoint; "" for the whole lesson.
std::string last_test(const Lesson& lesson, int checkpoint) {
  const int count = static_cast<int>(lesson.checkpoints.size());
  if (checkpoint == 0) return "";
  if (count == 0) {
    throw std::runtime_error(
        fmt::format("{} has no checkpoints; fix: {}", lesson.slug,
                    lesson_command(fmt::format("check {}", lesson.number))));
  }
  if (checkpoint < 1 || checkpoint > count) {
    throw std::runtime_error(fmt::format("{} has no checkpoint {}; fix: 1 to {}",
                                         lesson.slug, checkpoint, count));
  }
  return lesson.checkpoints[checkpoint - 1].until;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace

int judge(const Lesson& lesson, const Judging& files) {
  ResultsWriter results;
  const auto say = [&](const Json& row) { results.say(row); };
  const char* named = std::getenv("LOCKSTEP_NAMED_WORKSPACE");
  name_workspace_in_commands(named ? named : "");
  if (!files.tests.empty()) load_tests(files.tests, lesson.number);
  const std::vector<Test> tests = tests_of(lesson.number);
  if (!lesson.quiz) say({{"test", kOwnCode}, {"title", own_code_title(lesson)}});
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
    bool passed = lesson.quiz || passes(kOwnCode, [&] { load(lesson, files.library); });
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

namespace {

/// Builds and judges the file with the tests up to `until`.
Verdict judged(const Workspace& workspace, const Lesson& lesson, Sanitizer sanitizer,
               const std::string& until) {
  if (!workspace.started(lesson)) {
    throw std::runtime_error(
        fmt::format("{} does not exist; fix: {}", workspace.file(lesson).string(),
                    lesson_command(fmt::format("start {}", lesson.number))));
  }
  Verdict verdict;
  Built built{true, workspace.file(lesson), "", ""};
  auto start = std::chrono::steady_clock::now();
  if (!lesson.quiz) built = build_library(workspace, lesson, sanitizer);
  verdict.build_seconds = seconds_since(start);
  if (!built.ok) {
    verdict.message =
        "It does not compile yet. The compiler's first message matters most:";
    verdict.output = built.messages;
    return verdict;
  }

  const fs::path tests = build_tests(workspace, lesson);
  fs::create_directories(workspace.built());
  const fs::path stuck = workspace.built() / (lesson.slug + ".stuck");
  fs::remove(stuck);
  std::map<std::string, std::string> environment{
      {"LOCKSTEP_WORKSPACE_ROOT", workspace.root().string()},
      {"LOCKSTEP_NAMED_WORKSPACE", workspace_in_commands()},
      {"LOCKSTEP_STUCK", stuck.string()}};
  Limits limits;
  limits.seconds = lesson.seconds;
  if (sanitizer != Sanitizer::none) {
    limits.seconds *= 5;
    limits.memory = 0;  // sanitizers reserve terabytes of addresses
    environment["LD_PRELOAD"] = built.preload;
    const bool leaks = sanitizer == Sanitizer::leak;
    environment["ASAN_OPTIONS"] =
        fmt::format("detect_leaks={}:abort_on_error=0", leaks ? 1 : 0);
    environment["UBSAN_OPTIONS"] = "print_stacktrace=1";
    environment["TSAN_OPTIONS"] = "ignore_noninstrumented_modules=1";
  }
  start = std::chrono::steady_clock::now();
  ResultsReader results;
  const Ended ended = run_contained(
      {program_path(), "lesson", "judge", lesson.slug, built.library.string(),
       workspace.traces(lesson).string(), tests.string(), until},
      environment, limits, results.for_process());
  verdict.run_seconds = seconds_since(start);
  verdict.output = without_prefix(ended.output, workspace.root().string() + "/");
  const Reported reported = read_results(results.read(), verdict);
  if (!reported.complete || results.forged() || ended.exit_code != 0) {
    const auto places = places_in(stuck.string(), built.library.string());
    std::string end =
        about_end(ended, limits, lesson, sanitizer, places, reported.running);
    if (results.forged()) {
      end = "your code wrote results itself; only the lesson's tests report them. " +
            (reported.complete ? "" : end);
    }
    bool told = false;
    for (TestResult& test : verdict.tests) {
      if (test.name != reported.running) continue;
      test.status = "error";
      test.got = end;
      told = true;
    }
    if (!told) verdict.message = end;
    return verdict;
  }
  if (!verdict.message.empty()) return verdict;  // the library was refused
  verdict.status = "pass";
  for (const TestResult& test : verdict.tests) {
    if (test.status != "pass") verdict.status = "fail";
    if (test.name == until) break;
  }
  return verdict;
}

}  // namespace

Verdict check(const Workspace& workspace, const Lesson& lesson, Sanitizer sanitizer,
              int checkpoint) {
  const std::string until = last_test(lesson, checkpoint);
  Verdict verdict = judged(workspace, lesson, sanitizer, until);
  verdict.asked = checkpoint;
  judge_checkpoints(lesson, verdict);
  return verdict;
}

}  // namespace lockstep::lessons
