// The learner's folder: their files, the libraries built from them, and their progress.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "lessons/machine/lesson.h"

namespace lockstep::lessons {

struct Progress {
  bool passed = false;
  std::string passed_on;  ///< date of the first pass, `2026-11-22`
  int checks = 0;         ///< times the lesson was judged
  int hints = 0;          ///< hints shown
  int checkpoints = 0;    ///< the most that one check has passed
  bool solution_shown_early = false;
  std::string passed_text;  ///< fingerprint of the file when it last passed
};

/// Returns `lockstep lesson WORDS` for the user to type, with `--workspace D` if the
/// workspace was given that way.
std::string lesson_command(const std::string& words);
/// Sets the workspace shown in such commands; "" omits it.
void name_workspace_in_commands(const std::string& path);
const std::string& workspace_in_commands();

/// Returns whether the folder contains `.lockstep`, as learners' folders do.
bool is_workspace(const std::filesystem::path& folder);

/// All functions throw std::runtime_error naming the file and the fix.
class Workspace {
 public:
  /// Writes nothing until needed.
  explicit Workspace(std::filesystem::path root);

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path folder(const Lesson& lesson) const;
  std::filesystem::path file(const Lesson& lesson) const;  ///< the learner's
  std::filesystem::path traces(const Lesson& lesson) const;
  std::filesystem::path built() const { return root_ / ".lockstep"; }
  bool started(const Lesson& lesson) const;

  /// Writes the skeleton, the lesson's recorded traces, and files for editors. Throws
  /// if the learner's file already exists.
  void start(const Lesson& lesson) const;

  /// Renames the learner's file and writes the skeleton in its place; returns the old
  /// file's new path.
  std::filesystem::path reset(const Lesson& lesson) const;

  /// Writes the engine's headers for the compiler; returns their folder, in the
  /// workspace or in LOCKSTEP_HEADERS, which several workspaces can share.
  std::filesystem::path headers() const;

  /// Returns a fingerprint of the learner's current file; "" if there is none.
  std::string fingerprint(const Lesson& lesson) const;

  Progress progress(const Lesson& lesson) const;
  void save(const Lesson& lesson, const Progress& progress) const;

  /// Returns the lesson's solution, with the paths and commands of this workspace.
  std::string solution(const Lesson& lesson) const;

 private:
  void write_exercise(const Lesson& lesson) const;
  std::string exercise(const Lesson& lesson) const;

  std::filesystem::path root_;
};

}  // namespace lockstep::lessons
