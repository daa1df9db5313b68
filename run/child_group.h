// Child processes that live and die together, and their output, line by line.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/process.h"

namespace lockstep::run {

/// Called with each line, its end included, on a thread of its own.
using OnLine = std::function<void(const std::string& line)>;

/// A pipe and a thread that reads its lines. A last line without an end gets one.
class LineReader {
 public:
  explicit LineReader(OnLine on_line);
  ~LineReader();  ///< waits until the children have closed their end

  int entrance() const { return entrance_.get(); }  ///< for the child
  void close_entrance() { entrance_ = {}; }         ///< when it has it

 private:
  void read(const OnLine& on_line);

  Fd entrance_, exit_;
  std::thread thread_;
};

/// Copies of this program with arguments and environments of their own.
class ChildGroup {
 public:
  /// When one fails, the others get `grace` to end by themselves (and to say which rank
  /// is to blame); then they are terminated, and killed if that does not help.
  explicit ChildGroup(Milliseconds grace) : grace_(grace) {}
  ~ChildGroup() = default;  ///< kills what is left
  ChildGroup(const ChildGroup&) = delete;
  ChildGroup& operator=(const ChildGroup&) = delete;

  enum class Output {
    inherited,
    prefixed,  ///< each line begins with the child's name: `[rank 1] …`
  };
  using Variables = std::map<std::string, std::string>;

  /// `name` is for messages; `arguments` include the program's own name. Throws
  /// std::system_error if the child cannot be started.
  void start(const std::string& name, const std::vector<std::string>& arguments,
             const Variables& environment, Output output = Output::inherited);

  /// Its standard output goes to `on_line` (called on a thread of its own, until wait()
  /// returns), its error messages where ours go.
  void start(const std::string& name, const std::vector<std::string>& arguments,
             OnLine on_line);

  /// Returns when all have ended. Passes SIGINT (by sigqueue) and SIGTERM on; if
  /// `interrupted` is set, a SIGINT came before. Returns the first exit code that is
  /// not 0 (128 + signal of a child that was killed), else 0. Reports a child that was
  /// ended by somebody else's signal: it could not do so itself.
  int wait(const std::atomic<bool>& interrupted);

 private:
  void spawn(const std::string& name, Command command,
             const std::vector<std::pair<int, OnLine>>& streams);
  bool reap(int& first_failure);
  void signal_all(int number);

  struct Child {
    std::string name;
    Process process;
  };

  Milliseconds grace_;
  std::vector<std::unique_ptr<LineReader>> outputs_;
  std::vector<Child> running_;  // ends before outputs_, which wait for it
  bool we_signalled_ = false;   ///< then a death by signal is not reported
};

}  // namespace lockstep::run
