// Other programs. They are started without a shell: arguments arrive as they are.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

/// What a child may use; 0: no limit.
struct ProcessLimits {
  int64_t address_space = 0;  ///< bytes of virtual memory
  int64_t file_size = 0;      ///< bytes of each file that it writes
  bool core_dump = true;      ///< whether a crash may leave one
};

/// A program to start, and what it gets from us.
struct Command {
  static constexpr int kInherited = -1;  ///< our own file
  static constexpr int kNull = -2;       ///< /dev/null

  std::vector<std::string> words;  ///< the program, looked up in PATH; its arguments
  std::map<std::string, std::string> environment = {};          ///< set on top of ours
  int input = kNull, output = kInherited, errors = kInherited;  ///< or descriptors
  bool own_group = false;  ///< signals then reach its children as well
  ProcessLimits limits = {};
  std::string file = {};  ///< what is executed, if that is not `words[0]`
};

struct ExitStatus {
  int code = 0;    ///< 128 + the signal's number if one ended it, as in a shell
  int signal = 0;  ///< 0: it ended by itself
};

/// A running child. Not thread-safe; movable.
class Process {
 public:
  /// Starts it. Throws std::system_error naming the program if that fails.
  explicit Process(const Command& command);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();  ///< kills it if it still runs

  bool running() const { return id_ > 0; }
  /// Waits until it has ended. Must not be called a second time.
  ExitStatus wait();
  /// Returns at once: how it ended, or nullopt while it runs.
  std::optional<ExitStatus> poll();
  /// Sends a signal (by sigqueue, or by kill to its whole group).
  void signal(int number);

 private:
  std::optional<ExitStatus> reap(int options);

  pid_t id_ = -1;  ///< −1: it has ended
  bool own_group_ = false;
};

struct ProcessResult {
  int exit_code;       ///< as ExitStatus::code
  std::string output;  ///< standard output
  std::string errors;  ///< standard error, if it was captured
};

/// Where a program's error messages go: into `errors`, or to our own standard error
/// (for programs that draw a progress bar there).
enum class Messages { captured, shown };

/// Runs a program to its end and returns what it printed. Its standard input is empty.
/// Throws std::runtime_error if it cannot be started.
ProcessResult run_process(const std::vector<std::string>& words,
                          Messages messages = Messages::captured);

}  // namespace lockstep
