// How this program was started.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

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

/// Quotes a word of a command that is printed, if it has characters that a shell
/// interprets.
inline std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+-=,";
  if (!word.empty() && word.find_first_not_of(kPlain) == word.npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
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
