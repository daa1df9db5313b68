// The learner's file becomes a small shared library.
#pragma once

#include <filesystem>
#include <string>

#include "lessons/machine/workspace.h"

namespace lockstep::lessons {

/// What the library is compiled to find: wrong memory accesses, the same and memory
/// that nobody frees, races.
enum class Sanitizer { none, address, leak, thread };

struct Built {
  bool ok = false;
  std::filesystem::path library;
  std::string messages;  ///< the compiler's, with paths from the workspace
  std::string preload;   ///< the sanitizer's runtime, to be loaded first
};

/// Compiles what exercises include (`lessons/prelude.h`), so that each check takes a
/// second less. It takes some 4 s, 120 MB, and may be left out.
void prepare_headers(const Workspace& workspace);
bool headers_are_prepared(const Workspace& workspace);

/// Compiles the lesson's file against the engine's headers; nothing is linked, since
/// the program that loads it has the engine. It is not compiled again while the
/// file stays as it is.
/// Throws std::runtime_error if there is no compiler.
Built build_library(const Workspace& workspace, const Lesson& lesson,
                    Sanitizer sanitizer = Sanitizer::none);

/// Paths as a learner thinks of them (`05-scatter/scatter.cpp:7`): `text` without
/// `prefix`, wherever that stands.
std::string without_prefix(std::string text, const std::string& prefix);

/// The tests of a lesson of the course's folder, compiled; an empty path if the lesson
/// comes from the program. Throws std::runtime_error with the compiler's messages.
std::filesystem::path build_tests(const Workspace& workspace, const Lesson& lesson);

}  // namespace lockstep::lessons
