// How this program was started.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace lockstep {

/// Returns the name by which the user calls this program, so that hints can be typed as
/// they are: LOCKSTEP_PROGRAM, which the checkout's wrapper sets (to `./lockstep`, for
/// example), else `lockstep`.
inline std::string program() {
  const char* typed = std::getenv("LOCKSTEP_PROGRAM");
  return typed && *typed ? typed : "lockstep";
}

/// Returns the path of this program's file. Throws std::filesystem::filesystem_error if
/// /proc is not mounted.
inline std::string program_path() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

}  // namespace lockstep
