// Child processes that live and die together.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace lockstep::cli {

/// Copies of this program with the same arguments and other environments.
class Processes {
 public:
  /// When one fails, the others get `grace` to end by themselves (and to say which rank
  /// is to blame); then they are terminated, and killed if that does not help.
  explicit Processes(std::chrono::milliseconds grace) : grace_(grace) {}
  ~Processes();  ///< kills what is left

  /// `arguments` empty: those of this process.
  void start(const std::map<std::string, std::string>& environment,
             const std::vector<std::string>& arguments = {});

  /// Until all have ended. Passes SIGINT and SIGTERM on. Returns the first exit code
  /// that is not 0 (128 + signal of a child that was killed), else 0.
  int wait();

 private:
  bool reap(int& first_failure);
  void signal_all(int number);

  std::chrono::milliseconds grace_;
  std::vector<pid_t> running_;
};

/// A port of the loopback interface that is free now.
int free_port();

}  // namespace lockstep::cli
