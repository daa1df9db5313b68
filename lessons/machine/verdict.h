// What `lesson check` found out.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lessons/machine/lesson.h"

namespace lockstep::lessons {

struct TestResult {
  std::string name, title;
  std::string status = "not_run";  ///< pass, fail, error, not_run
  std::string what, expected, got, likely, read;
  std::string trace;  ///< file that shows it; empty if there is none
  int64_t event = -1;
};

struct Verdict {
  /// pass; fail (a test did not hold); error (it could not be judged: it does not
  /// compile, crashed, or ran out of time or memory).
  std::string status = "error";
  std::string message;  ///< of an error, for the learner
  std::string output;   ///< what the learner's code printed
  std::vector<TestResult> tests;
  double build_seconds = 0, run_seconds = 0;
};

/// As docs/lesson-result.md describes; version 1.
nlohmann::ordered_json verdict_json(const Lesson& lesson, const Verdict& verdict);

/// For a terminal of 88 columns; colours only if asked for.
std::string verdict_text(const Lesson& lesson, const Verdict& verdict, bool colours);

}  // namespace lockstep::lessons
