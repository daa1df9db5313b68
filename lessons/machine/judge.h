// Judges a learner's library in a separate process, since it may do anything.
#pragma once

#include <string>

#include "lessons/machine/build.h"
#include "lessons/machine/verdict.h"
#include "lessons/machine/workspace.h"

namespace lockstep::lessons {

/// Builds and judges the learner's file. Throws std::runtime_error if the lesson has
/// not been started.
Verdict check(const Workspace& workspace, const Lesson& lesson,
              Sanitizer sanitizer = Sanitizer::none);

/// Runs in the judged process: lists the tests, runs them, and writes one JSON line for
/// each to `results`. Returns the exit code.
struct Judging {
  std::string library;  ///< the learner's; for a quiz, the file with the answers
  std::string traces;   ///< folder for the traces of this run
  std::string results;  ///< file
  std::string tests;    ///< library containing the tests; empty: built in
};
int judge(const Lesson& lesson, const Judging& files);

/// Loads a lesson's library and plugs its functions into the engine's slots. Throws
/// std::runtime_error naming the library and the fix.
void plug(const std::string& library);

/// Plugs the libraries listed in LOCKSTEP_SLOTS, separated by colons.
void plug_from_environment();

}  // namespace lockstep::lessons
