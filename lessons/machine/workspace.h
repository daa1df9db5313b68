// The learner's folder: their files, what was built of them, and how far they are.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "lessons/machine/lesson.h"

namespace lockstep::lessons {

struct Progress {
  bool passed = false;
  std::string passed_on;  ///< date of the first pass, `2026-11-22`
  int checks = 0;         ///< how often the lesson was judged
  int hints = 0;          ///< how many hints were taken
  bool solution_shown_early = false;
  std::string passed_text;  ///< fingerprint of the file as it passed last
};

/// `lockstep lesson WORDS`, to be typed: with `--workspace D` if that was given so.
std::string lesson_command(const std::string& words);
/// From now on commands name this workspace; "": it is found without.
void name_workspace_in_commands(const std::string& path);
const std::string& workspace_in_commands();

/// A folder in which learners work holds `.lockstep`.
bool is_workspace(const std::filesystem::path& folder);

/// All calls throw std::runtime_error naming the file and the fix.
class Workspace {
 public:
  /// Nothing is written before it is needed.
  explicit Workspace(std::filesystem::path root);

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path folder(const Lesson& lesson) const;
  std::filesystem::path file(const Lesson& lesson) const;  ///< the learner's
  std::filesystem::path traces(const Lesson& lesson) const;
  std::filesystem::path built() const { return root_ / ".lockstep"; }
  bool started(const Lesson& lesson) const;

  /// Writes the skeleton, the lesson's recorded trace, and what editors need. Refuses
  /// to touch a file that is there.
  void start(const Lesson& lesson) const;

  /// Puts the learner's file aside and the skeleton in its place; returns where the old
  /// one is now.
  std::filesystem::path reset(const Lesson& lesson) const;

  /// The engine's headers as files, for the compiler; returns the folder. It is in the
  /// workspace, or in LOCKSTEP_HEADERS: whoever grades many workspaces makes them once.
  std::filesystem::path headers() const;

  /// A fingerprint of the learner's file as it is; "" if there is none.
  std::string fingerprint(const Lesson& lesson) const;

  Progress progress(const Lesson& lesson) const;
  void save(const Lesson& lesson, const Progress& progress) const;

 private:
  void write_exercise(const Lesson& lesson) const;

  std::filesystem::path root_;
};

}  // namespace lockstep::lessons
