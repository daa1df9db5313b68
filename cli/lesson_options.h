// Command-line options of `lockstep lesson`.
#pragma once

#include <string>
#include <vector>

#include "lessons/machine/build.h"
#include "lessons/machine/workspace.h"

namespace lockstep::cli {

struct LessonOptions {
  std::string lesson, workspace, course;
  int checkpoint = 0;  ///< for `check`; 0: the whole lesson
  lessons::Sanitizer sanitizer = lessons::Sanitizer::none;
  bool json = false, show_anyway = false, mine = false, again = false, grade = false;
  std::string result, key;  ///< files of graded results
  std::string submission;   ///< to compare with a graded result
  std::vector<std::string> train;
  std::vector<std::string> judge;  ///< see lessons::Judging
};

/// Returns the workspace named by the options, the environment or the current folder;
/// also selects the course for all later calls.
lessons::Workspace open_workspace(const LessonOptions& options);

/// Returns whether standard output shows colours.
bool colours();

/// Implements `lesson check --grade`: judges somebody else's file.
int check_for_a_grade(const LessonOptions& options);

/// Implements `lesson verify FILE --key KEY`.
int verify_result(const LessonOptions& options);

/// Implements `lesson run [--mine [LESSON]] [-- TRAIN_ARGS]`: trains with the learner's
/// pieces.
int run_with_pieces(const LessonOptions& options);

}  // namespace lockstep::cli
