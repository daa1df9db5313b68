// The interpreter for lessons whose exercise is in Python.
#pragma once

#include <filesystem>
#include <string>

#include "lessons/machine/lesson.h"

namespace lockstep::lessons {

/// Returns an interpreter that has PyTorch: LOCKSTEP_PYTHON, if set, otherwise the
/// first of `python3` and Debian's `/usr/bin/python3` that does. Imports nothing.
/// Throws std::runtime_error naming the lesson and the fix if there is none.
std::string python_for(const Lesson& lesson);

/// Returns Python's message about a file that cannot be parsed; "" if it can be.
std::string syntax_error(const std::string& python, const std::filesystem::path& file);

}  // namespace lockstep::lessons
