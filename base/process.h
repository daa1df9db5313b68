// Starts other programs, without a shell: arguments arrive as they are.
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
  bool core_dump = true;      ///< whether a crash may write one
};

/// A program to start, and what it inherits.
struct Command {
  static constexpr int kInherited = -1;  ///< our own file
  static constexpr int kNull = -2;       ///< /dev/null

  std::vector<std::string> words;  ///< the program, looked up in our PATH; arguments
  std::map<std::string, std::string> environment = {};  ///< set on top of ours
  /// Standard input, output and errors: descriptors of ours, or one of the above.
  int input = kNull, output = kInherited, errors = kInherited;
  bool own_group = false;  ///< starts a process group, which signal() then reaches
  ProcessLimits limits = {};
  std::string file = {};  ///< what is executed, if that is not `words[0]`
};

struct ExitStatus {
  int code = 0;    ///< 128 + the signal's number if one ended it, as in a shell
  int signal = 0;  ///< the signal that ended it; 0: it exited
};

/// A child process. Movable; not thread-safe, but different objects may be used by
/// different threads.
class Process {
 public:
  /// Starts the program. Throws std::system_error naming it if that fails.
  explicit Process(const Command& command);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;

  /// Kills the child if it has not been seen to end.
  ~Process();

  /// Returns whether wait() or poll() have not yet seen it end.
  bool running() const { return id_ > 0; }

  /// Waits until it has ended. Later calls return the same status.
  ExitStatus wait();

  /// Returns how it ended, or nullopt while it runs. Does not wait.
  std::optional<ExitStatus> poll();

  /// Sends a signal to the child, by sigqueue(3), or to its group, by kill(2). Does
  /// nothing once running() is false.
  void signal(int number);

 private:
  std::optional<ExitStatus> reap(int options);

  pid_t id_ = -1;      ///< −1: it has ended
  ExitStatus status_;  ///< valid once it has ended
  bool own_group_ = false;
};

struct ProcessResult {
  int exit_code;       ///< as ExitStatus::code
  std::string output;  ///< standard output
  std::string errors;  ///< standard error, if captured
};

/// Where standard error goes: into ProcessResult::errors, or to our own standard error
/// (for programs that draw a progress bar there).
enum class Messages { captured, shown };

/// Runs a program to its end, with empty standard input, and returns what it printed.
/// Throws std::runtime_error naming the program if it cannot be started. Thread-safe.
ProcessResult run_process(const std::vector<std::string>& words,
                          Messages messages = Messages::captured);

}  // namespace lockstep
