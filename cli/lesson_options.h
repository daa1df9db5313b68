// The words of `lockstep lesson`.
#pragma once

#include <string>
#include <vector>

#include "lessons/machine/build.h"
#include "lessons/machine/workspace.h"

namespace lockstep::cli {

struct LessonOptions {
  std::string lesson, workspace, course;
  lessons::Sanitizer sanitizer = lessons::Sanitizer::none;
  bool json = false, show_anyway = false, mine = false, again = false;
  std::vector<std::string> train;
  std::vector<std::string> judge;  ///< as in lessons::Judging
};

/// The workspace that the words, the environment or the current folder name; and the
/// course, for everything that comes later.
lessons::Workspace open_workspace(const LessonOptions& options);

/// `lesson run [--mine [LESSON]] [-- WORDS OF train]`: trains, with the learner's
/// pieces.
int run_with_pieces(const LessonOptions& options);

}  // namespace lockstep::cli
