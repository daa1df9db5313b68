// `lesson check` and its result. A learner's library is judged in a separate process,
// since it may do anything.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lessons/machine/build.h"
#include "lessons/machine/contain.h"
#include "lessons/machine/lesson.h"
#include "lessons/machine/workspace.h"

namespace lockstep::lessons {

struct TestResult {
  std::string name, title;
  std::string status = "not_run";  ///< pass, fail, error, not_run
  std::string what, expected, got, likely, read;
  std::string trace;  ///< file that shows the failure; empty if none
  int64_t event = -1;
};

struct CheckpointResult {
  std::string title;
  int minutes = 0;
  std::string first, last;  ///< its tests
  bool passed = false;
};

/// The result of `lesson check`.
struct Verdict {
  /// pass; fail (a test failed); error (could not be judged: it does not compile,
  /// crashed, or exceeded time or memory).
  std::string status = "error";
  std::string message;  ///< of an error, for the learner
  std::string output;   ///< the output of the learner's code
  std::vector<TestResult> tests;
  std::vector<CheckpointResult> checkpoints;
  int asked = 0;  ///< the checkpoint that was asked for; 0: the whole lesson
  double build_seconds = 0, run_seconds = 0;
};

/// Returns the JSON described in docs/lesson-result.md; version 1.
nlohmann::ordered_json verdict_json(const Lesson& lesson, const Verdict& verdict);

/// Returns text for a terminal, wrapped at 80 columns; with colours, and with the
/// learner's next command, if requested.
std::string verdict_text(const Lesson& lesson, const Verdict& verdict, bool colours,
                         bool next = true);

/// Fills in the checkpoints of a verdict from its tests.
void judge_checkpoints(const Lesson& lesson, Verdict& verdict);
/// Returns the number of checkpoints that have passed.
int passed_checkpoints(const Verdict& verdict);

/// Builds and judges the learner's file: up to `checkpoint`, counted from 1, or
/// completely if it is 0. Throws std::runtime_error if the lesson has not been started
/// or has no such checkpoint.
Verdict check(const Workspace& workspace, const Lesson& lesson,
              Sanitizer sanitizer = Sanitizer::none, int checkpoint = 0);

/// The judged process, as the judge starts it.
struct JudgedProcess {
  /// Runs it with the given limits and standard input, and waits for it.
  std::function<Ended(const Limits&, int results)> run;
  Sanitizer sanitizer = Sanitizer::none;
  std::filesystem::path library;  ///< the learner's
  std::filesystem::path stuck;    ///< where report_when_stuck() writes
  std::filesystem::path root;     ///< omitted in the output that learners see
  std::string until;              ///< last test that counts; empty: all
};

/// Runs the process, and completes the verdict from what it reports and how it ends.
void decide(const Lesson& lesson, const JudgedProcess& process, Verdict& verdict);

/// The files of the judged process, and which tests it runs.
struct Judging {
  std::string library;  ///< the learner's, or the file that is judged as it is
  std::string traces;   ///< folder for the traces of this run
  std::string tests;    ///< library containing the tests; empty: built in
  std::string until;    ///< last test to run; empty: all
};
/// Runs in the judged process: lists the tests, runs them, and reports each to the
/// judge, which is at the other end of standard input. Returns the exit code.
int judge(const Lesson& lesson, const Judging& files);

/// Loads a lesson's library and plugs its functions into the engine's slots. Throws
/// std::runtime_error naming the library and the fix.
void plug(const std::string& library);

/// Plugs the libraries listed in LOCKSTEP_SLOTS, separated by colons.
void plug_from_environment();

}  // namespace lockstep::lessons
