// Another program, fed through its standard input.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::gui {

/// Runs a program without a shell. What it says goes to a file that is gone with us.
class ChildProcess {
 public:
  /// The first argument is the program, looked up in PATH. Throws std::system_error: no
  /// such program, or no room for another process.
  explicit ChildProcess(const std::vector<std::string>& arguments);
  ~ChildProcess();  ///< stops it if it still runs
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// False when it does not listen any more. Raises no SIGPIPE.
  bool write(std::string_view bytes);

  /// Closes its input and waits for it. True if it ended well.
  bool finish();

  /// The last line that it wrote to standard error, maybe empty.
  std::string last_words() const;

 private:
  struct CloseFile {
    void operator()(FILE* file) const { std::fclose(file); }
  };
  void close_input();
  int wait();

  std::unique_ptr<FILE, CloseFile> errors_;
  int input_ = -1;
  pid_t id_ = -1;  ///< -1: it has ended
};

}  // namespace lockstep::gui
