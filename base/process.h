// Starts other programs without a shell: arguments are passed verbatim.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

/// Resource limits of a child process; 0 means unlimited.
struct ProcessLimits {
  int64_t address_space = 0;  ///< bytes of virtual memory
  int64_t file_size = 0;      ///< maximum bytes of each file that it writes
  bool core_dump = true;      ///< whether a crash may write a core dump
};

/// A program to start, with its files, environment and limits.
struct Command {
  static constexpr int kInherited = -1;  ///< inherit the caller's file
  static constexpr int kNull = -2;       ///< /dev/null

  std::vector<std::string> words;  ///< program (searched for in PATH) and arguments
  std::map<std::string, std::string> environment = {};  ///< in addition to ours
  bool inherit_environment = true;  ///< false: `environment` is all of it
  /// Standard input, output and error: our descriptors, or one of the above. The child
  /// inherits no other descriptor.
  int input = kNull, output = kInherited, errors = kInherited;
  bool own_group = false;  ///< start a process group, to which signal() applies
  ProcessLimits limits = {};
  std::string file = {};  ///< the file to execute, if not `words[0]`
};

struct ExitStatus {
  int code = 0;    ///< 128 + signal number if killed by a signal, as in a shell
  int signal = 0;  ///< the signal that killed it; 0 if it exited
};

/// A child process. Movable. Not thread-safe, but different objects may be used from
/// different threads.
class Process {
 public:
  /// Starts the program. Throws std::system_error naming it if it cannot be started.
  explicit Process(const Command& command);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;

  /// Kills the child and waits for it if running() is true.
  ~Process();

  /// Returns true until wait() or poll() has reported that the child has ended.
  bool running() const { return id_ > 0; }

  /// Returns the child's process id; −1 once it has ended.
  pid_t id() const { return id_; }

  /// Waits until the child has ended. Later calls return the same status.
  ExitStatus wait();

  /// Returns the exit status, or nullopt while the child is running. Does not block.
  std::optional<ExitStatus> poll();

  /// Sends a signal to the child with sigqueue(3), or to its group with kill(2). Does
  /// nothing if running() is false.
  void signal(int number);

 private:
  std::optional<ExitStatus> reap(int options);

  pid_t id_ = -1;      ///< −1 once it has ended
  ExitStatus status_;  ///< valid once it has ended
  bool own_group_ = false;
};

struct ProcessResult {
  int exit_code;       ///< as ExitStatus::code
  std::string output;  ///< standard output
  std::string errors;  ///< standard error, if captured
};

/// The destination of standard error: ProcessResult::errors, or our own standard error
/// (for programs that show a progress bar there).
enum class Messages { captured, shown };

/// Runs a program to completion with empty standard input and returns its output.
/// Throws std::runtime_error naming the program if it cannot be started. Thread-safe.
ProcessResult run_process(const std::vector<std::string>& words,
                          Messages messages = Messages::captured);

}  // namespace lockstep
