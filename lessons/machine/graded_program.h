// The copy of this program, without answers, that grades an exercise.
#pragma once

#include <filesystem>
#include <string>

#include "lessons/machine/lesson.h"

namespace lockstep::lessons {

/// Writes a copy of this program without the answers that it contains: of its embedded
/// sources, the .cpp files are blank (the engine's own functions, the lessons' tests),
/// and exercises are skeletons.
void write_program_without_answers(const std::filesystem::path& to);

/// Writes a lesson's files, as lesson_file() finds them, to the folder `to`, with the
/// exercise reduced to its skeleton.
void write_lesson_without_answers(const Lesson& lesson,
                                  const std::filesystem::path& to);

/// Returns the SHA-256 of this program and its own libraries.
std::string hash_of_program();
/// Returns the SHA-256 of a lesson's description, exercise and tests.
std::string hash_of_lesson(const Lesson& lesson);

}  // namespace lockstep::lessons
