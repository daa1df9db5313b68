// A lesson's folder, as it travels inside the program.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::lessons {

/// A structural measure that a test enforces, with the three numbers that justify it.
struct Gate {
  std::string name, unit, why;
  double naive = 0, correct = 0, limit = 0;
};

struct Lesson {
  int number = 0;
  std::string slug;   ///< `05-scatter`, the folder's name
  std::string title;  ///< `DataParallel I: scatter`
  std::string goal;   ///< one sentence
  int minutes = 0;    ///< what it takes, about
  std::string file;   ///< the learner's file in the workspace: `scatter.cpp`
  bool quiz = false;  ///< answers in a text file: no compiler is needed
  int seconds = 20;   ///< limit of one check's run
  std::vector<std::string> slots;  ///< of the engine, into which the solution fits
  std::string run;  ///< words of `train` with which they are called; "": always
  bool calls_traced = true;  ///< false: called where no call is recorded
  std::vector<Gate> gates;
  std::vector<std::string> hints;  ///< three, each more telling than the one before

  std::string exercise() const;  ///< the text with solution regions
};

/// A folder of lessons that is being written (`--course`, or LOCKSTEP_COURSE): its
/// lessons come before those inside the program, and its tests are compiled when they
/// are needed. Empty: none.
std::filesystem::path course_folder();

/// All lessons, by number. A damaged one is left out, with a line on standard error.
const std::vector<Lesson>& all_lessons();

/// By number (`5`, `05`), folder or the folder's words (`scatter`). Throws
/// std::runtime_error that names those that there are.
const Lesson& find_lesson(std::string_view name);

/// A file of a lesson (`05-scatter`, `hints.md`), of the course's folder or inside the
/// program; nothing if there is none.
std::optional<std::string> lesson_file(const std::string& slug,
                                       const std::string& name);

/// All embedded headers that exercises may include: (path, text).
std::vector<std::pair<std::string, std::string_view>> engine_headers();

/// A number that changes with any of those headers, as text.
const std::string& headers_stamp();

}  // namespace lockstep::lessons
