// How this program was started.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace lockstep {

/// The program's name and version, as `--version` prints them.
inline constexpr const char* kVersion = "lockstep 0.1.0";

/// Returns the command by which the user runs this program, so that hints can be copied
/// verbatim: the value of LOCKSTEP_PROGRAM, which the checkout's wrapper script sets
/// (for example, to `./lockstep`), otherwise `lockstep`.
inline std::string program() {
  const char* typed = std::getenv("LOCKSTEP_PROGRAM");
  return typed && *typed ? typed : "lockstep";
}

/// Returns the path of this program's executable. Throws
/// std::filesystem::filesystem_error if /proc is not mounted.
inline std::string program_path() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

/// Returns `path` below the folder into which the program is installed (the one that
/// contains `bin`): `share/…` becomes /usr/share/… for /usr/bin/lockstep. It need not
/// exist.
inline std::filesystem::path installed(const std::string& path) {
  std::error_code none;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", none);
  return here.parent_path().parent_path() / path;
}

}  // namespace lockstep
