// How this program was started, for hints that can be typed as they stand.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace lockstep {

/// `./lockstep` (or whatever was typed) when the checkout's wrapper started it, which
/// says so in LOCKSTEP_PROGRAM; else `lockstep`.
inline std::string program() {
  const char* typed = std::getenv("LOCKSTEP_PROGRAM");
  return typed && *typed ? typed : "lockstep";
}

/// The path of this program's file.
inline std::string program_path() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

}  // namespace lockstep
