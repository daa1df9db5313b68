// Runs programs in a sandbox that bubblewrap builds from Linux namespaces: no network,
// no other processes, no capabilities, no environment, and no files except those shown.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "lessons/machine/contain.h"

namespace lockstep::lessons {

class Sandbox {
 public:
  /// Shows nothing but /proc of the sandbox's own processes, /dev/null, /dev/urandom
  /// and an empty writable /tmp of 1 GiB, which is lost when the last process ends.
  Sandbox();

  /// Shows a file or folder, read-only, at its own path or at `seen`. Does nothing if
  /// it does not exist.
  void show(const std::filesystem::path& file);
  void show_as(const std::filesystem::path& file, const std::filesystem::path& seen);
  /// Shows the shared libraries of this program.
  void show_own_libraries();
  /// Shows the system's compilers, headers and libraries.
  void show_compilers();
  /// Shows a folder in which programs may write.
  void let_write(const std::filesystem::path& folder);
  /// Makes a file in a folder that is shown appear empty.
  void hide(const std::filesystem::path& file);
  /// Sets an environment variable.
  void set(const std::string& name, const std::string& value);

  /// Runs `words` in the sandbox. Throws std::runtime_error with the fix if this
  /// machine has no bubblewrap.
  Ended run(const std::vector<std::string>& words, Limits limits, int input = -2) const;

 private:
  std::vector<std::string> mounts_;
  std::map<std::string, std::string> environment_;
};

/// Returns the name and version of the sandboxing program: `bubblewrap 0.8.0`. Throws
/// std::runtime_error with the fix if `program`, which must accept `--version`, does
/// not run in a sandbox here: bubblewrap is missing, or namespaces are forbidden.
std::string require_sandbox(const std::filesystem::path& program);

}  // namespace lockstep::lessons
