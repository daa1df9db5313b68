// Compiles the learner's file into a small shared library.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lessons/machine/workspace.h"

namespace lockstep::lessons {

/// What the library is instrumented to detect: nothing; invalid memory accesses; those
/// and leaks; or data races.
enum class Sanitizer { none, address, leak, thread };

struct Built {
  bool ok = false;
  std::filesystem::path library;
  std::string messages;  ///< from the compiler, with paths relative to the workspace
  std::string preload;   ///< the sanitizer's runtime, to be loaded first
};

/// Precompiles the headers that exercises include (`lessons/prelude.h`), which saves
/// one second per check. Optional; takes about 4 s and 120 MB.
void prepare_headers(const Workspace& workspace);
bool headers_are_prepared(const Workspace& workspace);

/// Compiles the lesson's file against the engine's headers; links nothing, since the
/// program that loads it contains the engine. Does nothing if the file has not changed.
/// Throws std::runtime_error if there is no compiler.
Built build_library(const Workspace& workspace, const Lesson& lesson,
                    Sanitizer sanitizer = Sanitizer::none);

/// Returns the compiler and its options for a learner's file, without a sanitizer; the
/// file and the kind of output are to be added. Writes the headers if they are missing.
std::vector<std::string> compiler_command(const Workspace& workspace);

/// Returns `text` without any occurrence of `prefix`: paths as shown to learners
/// (`05-scatter/scatter.cpp:7`).
std::string without_prefix(std::string text, const std::string& prefix);

/// Compiles the tests of a lesson in the course folder; returns an empty path if the
/// lesson is built into the program. Throws std::runtime_error with the compiler's
/// messages.
std::filesystem::path build_tests(const Workspace& workspace, const Lesson& lesson);

}  // namespace lockstep::lessons
