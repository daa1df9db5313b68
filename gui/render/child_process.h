// A child process that reads from a pipe.
#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/process.h"

namespace lockstep::gui {

/// A running program that reads what we write; the destructor stops it. Keeps its
/// standard error.
class ChildProcess {
 public:
  /// The first argument is the program, looked up in PATH. Throws std::system_error if
  /// there is no such program or no process can be created.
  explicit ChildProcess(const std::vector<std::string>& arguments);

  /// Returns false if the program no longer reads. Does not raise SIGPIPE.
  bool write(std::string_view bytes);

  /// Closes the input and waits for the program. Returns true if it exited with 0.
  bool finish();

  /// Returns the last line of standard error; may be empty.
  std::string last_error_line() const;

 private:
  struct CloseFile {
    void operator()(FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<FILE, CloseFile> errors_;
  Fd input_;
  std::optional<Process> process_;  ///< the destructor stops it
};

}  // namespace lockstep::gui
