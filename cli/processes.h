// Child processes that live and die together.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/child_output.h"

namespace lockstep::cli {

/// Copies of this program with the same arguments and other environments.
class Processes {
 public:
  /// When one fails, the others get `grace` to end by themselves (and to say which rank
  /// is to blame); then they are terminated, and killed if that does not help.
  explicit Processes(std::chrono::milliseconds grace);
  ~Processes();  ///< kills what is left

  enum class Output {
    inherited,
    prefixed,  ///< each line begins with the child's name: `[rank 1] …`
  };

  /// `name` is for messages. `arguments` empty: those of this process.
  void start(const std::string& name,
             const std::map<std::string, std::string>& environment,
             const std::vector<std::string>& arguments = {},
             Output output = Output::inherited);

  /// Its standard output goes to `on_line` (called on a thread of its own, until wait()
  /// returns), its complaints where ours go.
  void start(const std::string& name, const std::vector<std::string>& arguments,
             OnLine on_line);

  /// Until all have ended. Passes SIGINT (by sigqueue) and SIGTERM on. Returns the
  /// first exit code that is not 0 (128 + signal of a child that was killed), else 0.
  /// Says which child a stranger's signal has ended: it could not do so itself.
  int wait();

 private:
  void spawn(const std::string& name,
             const std::map<std::string, std::string>& environment,
             std::vector<std::string> arguments,
             const std::vector<std::pair<int, OnLine>>& streams);
  bool reap(int& first_failure);
  void signal_all(int number);

  struct Child {
    pid_t pid;
    std::string name;
  };

  std::chrono::milliseconds grace_;
  std::vector<Child> running_;
  std::vector<std::unique_ptr<ChildOutput>> outputs_;
  bool we_signalled_ = false;  ///< so deaths by signal are no news
};

/// A port of the loopback interface that is free now.
int free_port();

}  // namespace lockstep::cli
