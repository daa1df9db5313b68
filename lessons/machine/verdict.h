// The result of `lesson check`.
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
  std::string trace;  ///< file that shows the failure; empty if none
  int64_t event = -1;
};

struct Verdict {
  /// pass; fail (a test failed); error (could not be judged: it does not compile,
  /// crashed, or exceeded time or memory).
  std::string status = "error";
  std::string message;  ///< of an error, for the learner
  std::string output;   ///< the output of the learner's code
  std::vector<TestResult> tests;
  double build_seconds = 0, run_seconds = 0;
};

/// Returns the JSON described in docs/lesson-result.md; version 1.
nlohmann::ordered_json verdict_json(const Lesson& lesson, const Verdict& verdict);

/// Returns text for a terminal, wrapped at 80 columns; with colours if requested.
std::string verdict_text(const Lesson& lesson, const Verdict& verdict, bool colours);

}  // namespace lockstep::lessons
