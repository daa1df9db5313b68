// Other programs, started without a shell: arguments arrive as they are.
#pragma once

#include <string>
#include <vector>

namespace lockstep::data {

struct ProcessResult {
  int exit_code;       ///< 128 + the signal's number if one ended it, as in a shell
  std::string output;  ///< standard output
  std::string errors;  ///< standard error, if it was captured
};

/// Where a program's complaints go: into `errors`, or to our own standard error (for
/// programs that draw a progress bar there).
enum class Complaints { captured, shown };

/// Runs `arguments[0]`, looked up in PATH, and waits for it. Its standard input is
/// empty. Throws std::runtime_error if it cannot be started.
ProcessResult run_process(const std::vector<std::string>& arguments,
                          Complaints complaints = Complaints::captured);

}  // namespace lockstep::data
