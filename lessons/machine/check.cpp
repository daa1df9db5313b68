// Builds a learner's file, starts the judged process, and returns a verdict.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/program.h"
#include "lessons/machine/judge.h"
#include "lessons/machine/own_code.h"
#include "lessons/machine/python.h"
#include "lessons/machine/results.h"
#include "lessons/machine/stuck.h"

namespace lockstep::lessons {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

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

/// Asks Python whether it can read the learner's file.
Built parse(const Workspace& workspace, const Lesson& lesson) {
  const fs::path file = workspace.file(lesson);
  const std::string error = syntax_error(python_for(lesson), file);
  return {error.empty(), file, without_prefix(error, workspace.root().string() + "/"),
          ""};
}

std::map<std::string, std::string> environment_of(const Workspace& workspace,
                                                  const Built& built,
                                                  const JudgedProcess& process) {
  std::map<std::string, std::string> environment{
      {"LOCKSTEP_WORKSPACE_ROOT", workspace.root().string()},
      {"LOCKSTEP_NAMED_WORKSPACE", workspace_in_commands()},
      {"LOCKSTEP_STUCK", process.stuck.string()}};
  if (process.sanitizer != Sanitizer::none) {
    environment["LD_PRELOAD"] = built.preload;
    const bool leaks = process.sanitizer == Sanitizer::leak;
    environment["ASAN_OPTIONS"] =
        fmt::format("detect_leaks={}:abort_on_error=0", leaks ? 1 : 0);
    environment["UBSAN_OPTIONS"] = "print_stacktrace=1";
    environment["TSAN_OPTIONS"] = "ignore_noninstrumented_modules=1";
  }
  return environment;
}

}  // namespace

Verdict check(const Workspace& workspace, const Lesson& lesson, Sanitizer sanitizer,
              int checkpoint) {
  JudgedProcess process;
  process.until = last_test(lesson, checkpoint);
  if (!workspace.started(lesson)) {
    throw std::runtime_error(
        fmt::format("{} does not exist; fix: {}", workspace.file(lesson).string(),
                    lesson_command(fmt::format("start {}", lesson.number))));
  }
  Verdict verdict;
  verdict.asked = checkpoint;
  Built built{true, workspace.file(lesson), "", ""};
  const auto start = std::chrono::steady_clock::now();
  if (lesson.compiled()) built = build_library(workspace, lesson, sanitizer);
  if (lesson.python) built = parse(workspace, lesson);
  verdict.build_seconds = seconds_since(start);
  if (!built.ok) {
    verdict.message =
        lesson.python
            ? "Python cannot read it yet:"
            : "It does not compile yet. The compiler's first message matters most:";
    verdict.output = built.messages;
    judge_checkpoints(lesson, verdict);
    return verdict;
  }

  const fs::path tests = build_tests(workspace, lesson);
  fs::create_directories(workspace.built());
  process.sanitizer = sanitizer;
  process.library = built.library;
  process.stuck = workspace.built() / (lesson.slug + ".stuck");
  process.root = workspace.root();
  fs::remove(process.stuck);
  const std::vector<std::string> command{program_path(),
                                         "lesson",
                                         "judge",
                                         lesson.slug,
                                         built.library.string(),
                                         workspace.traces(lesson).string(),
                                         tests.string(),
                                         process.until};
  const auto environment = environment_of(workspace, built, process);
  process.run = [&](const Limits& limits, int results) {
    return run_contained(command, environment, limits, results);
  };
  decide(lesson, process, verdict);
  judge_checkpoints(lesson, verdict);
  return verdict;
}

void decide(const Lesson& lesson, const JudgedProcess& process, Verdict& verdict) {
  Limits limits;
  limits.seconds = lesson.seconds;
  if (process.sanitizer != Sanitizer::none) {
    limits.seconds *= 5;
    limits.memory = 0;  // sanitizers reserve terabytes of address space
  }
  const auto start = std::chrono::steady_clock::now();
  ResultsReader results;
  const Ended ended = process.run(limits, results.for_process());
  verdict.run_seconds = seconds_since(start);
  verdict.output = without_prefix(ended.output, process.root.string() + "/");
  const Reported reported = read_results(results.read(), verdict);
  if (!reported.complete || results.forged() || ended.exit_code != 0) {
    const auto places = places_in(process.stuck.string(), process.library.string());
    std::string end =
        about_end(ended, limits, lesson, process.sanitizer, places, reported.running);
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
    return;
  }
  if (!verdict.message.empty()) return;  // the library was refused
  verdict.status = "pass";
  for (const TestResult& test : verdict.tests) {
    if (test.status != "pass") verdict.status = "fail";
    if (test.name == process.until) break;
  }
}

}  // namespace lockstep::lessons
