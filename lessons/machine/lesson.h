// A lesson's folder, as embedded in the program.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::lessons {

/// A structural metric that a test enforces, with the three numbers that justify it.
struct Gate {
  std::string name, unit, why;
  double naive = 0, correct = 0, limit = 0;
};

/// A stage of a long lesson: some of its tests, in order.
struct Checkpoint {
  std::string title;  ///< `Buckets leave in turn`
  int minutes = 0;    ///< approximate duration
  std::string until;  ///< its last test
};

struct Lesson {
  int number = 0;
  std::string slug;     ///< `05-scatter`, the folder's name
  std::string title;    ///< `DataParallel I: scatter`
  std::string goal;     ///< one sentence
  int minutes = 0;      ///< approximate duration
  std::string file;     ///< the learner's file in the workspace: `scatter.cpp`
  bool quiz = false;    ///< answers in a text file; needs no compiler
  bool python = false;  ///< the file is Python, and needs PyTorch
  int seconds = 20;     ///< time limit of one check
  std::vector<std::string> slots;       ///< the engine's slots that the solution fills
  std::vector<std::string> not_called;  ///< the engine's own solutions to the exercise
  std::string run;           ///< arguments of `train` that call them; "": always
  bool calls_traced = true;  ///< false: called where no calls are recorded
  std::vector<Gate> gates;
  std::vector<Checkpoint> checkpoints;  ///< of lessons over 40 minutes; else empty
  std::vector<std::string> hints;  ///< three, each more explicit than the previous one

  /// Whether the learner's file is C++ that becomes a library.
  bool compiled() const { return !quiz && !python; }
  /// The name of the file with the exercise, in the lesson's folder.
  const char* exercise_name() const;
  std::string exercise() const;  ///< the text with solution regions
};

/// Returns a folder of lessons under development (`--course`, or LOCKSTEP_COURSE): its
/// lessons take precedence over those in the program, and its tests are compiled on
/// demand. Empty: none.
std::filesystem::path course_folder();

/// Returns all lessons by number. Skips damaged ones with a line on standard error.
const std::vector<Lesson>& all_lessons();

/// Finds a lesson by number (`5`, `05`), by folder name, or by folder name without the
/// number (`scatter`). Throws std::runtime_error listing the lessons.
const Lesson& find_lesson(std::string_view name);

/// Returns a file of a lesson (`05-scatter`, `hints.md`) from the course folder or the
/// program; nullopt if there is none.
std::optional<std::string> lesson_file(const std::string& slug,
                                       const std::string& name);

/// Returns all embedded headers that exercises may include: (path, text).
std::vector<std::pair<std::string, std::string_view>> engine_headers();

/// Returns a hash of those headers, as text.
const std::string& headers_stamp();

}  // namespace lockstep::lessons
