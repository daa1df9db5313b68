// Another program, fed through its standard input.
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

/// A running program that reads what we write; stopped by the destructor. What it
/// prints to standard error is kept.
class ChildProcess {
 public:
  /// The first argument is the program, looked up in PATH. Throws std::system_error: no
  /// such program, or no room for another process.
  explicit ChildProcess(const std::vector<std::string>& arguments);

  /// False when it does not listen any more. Raises no SIGPIPE.
  bool write(std::string_view bytes);

  /// Closes its input and waits for it. True if it ended well.
  bool finish();

  /// The last line that it wrote to standard error, maybe empty.
  std::string last_error_line() const;

 private:
  struct CloseFile {
    void operator()(FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<FILE, CloseFile> errors_;
  Fd input_;
  std::optional<Process> process_;  ///< stopped by its destructor
};

}  // namespace lockstep::gui
