// Starts and stops child processes as a group, and reads their output line by line.
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

/// Called with each line, including its line ending, on a dedicated thread.
using OnLine = std::function<void(const std::string& line)>;

/// A pipe and a thread that reads its lines. An unterminated last line is terminated.
class LineReader {
 public:
  explicit LineReader(OnLine on_line);
  ~LineReader();  ///< waits until the children have closed their end

  int entrance() const { return entrance_.get(); }  ///< the write end, for the child
  void close_entrance() { entrance_ = {}; }         ///< call once the child has it

 private:
  void read(const OnLine& on_line);

  Fd entrance_, exit_;
  std::thread thread_;
};

/// Copies of this program, each with its own arguments and environment.
class ChildGroup {
 public:
  /// If a child fails, the others have `grace` to exit on their own (and report which
  /// rank is to blame); after that they are terminated, and killed if necessary. Those
  /// that write their results (writing.h) have a minute. There is no limit after a
  /// child that exits with 130 or 143, because a signal stopped it. From here on,
  /// SIGINT and SIGTERM are held for wait().
  explicit ChildGroup(Milliseconds grace);
  ~ChildGroup();  ///< kills the remaining children
  ChildGroup(const ChildGroup&) = delete;
  ChildGroup& operator=(const ChildGroup&) = delete;

  enum class Output {
    inherited,
    prefixed,  ///< each line begins with the child's name: `[rank 1] …`
  };
  using Variables = std::map<std::string, std::string>;

  /// `name` is used in messages; `arguments` include the program's name. Throws
  /// std::system_error if the child cannot be started.
  void start(const std::string& name, const std::vector<std::string>& arguments,
             const Variables& environment, Output output = Output::inherited);

  /// Passes the child's standard output to `on_line` (called on a dedicated thread
  /// until wait() returns); its standard error is inherited.
  void start(const std::string& name, const std::vector<std::string>& arguments,
             OnLine on_line);

  /// Waits until all children have exited. Forwards SIGINT and SIGTERM by sigqueue. If
  /// `interrupted` is set, a SIGINT arrived earlier. Returns the first nonzero exit
  /// code (128 + signal for a killed child), or 0. If that is 130 or 143, returns 128 +
  /// the signal that was forwarded last, or else 143 if any child exited with it.
  /// Reports a child killed by a signal from outside, since the child could not report
  /// it itself.
  int wait(const std::atomic<bool>& interrupted);

  /// Returns the signal that wait() has forwarded; 0 if there was none.
  int signal() const { return signal_; }

 private:
  void spawn(const std::string& name, Command command,
             const std::vector<std::pair<int, OnLine>>& streams);
  int wait_for_all(const std::atomic<bool>& interrupted);
  bool reap(int& first_failure);
  void signal_all(int number);
  void end_rest(bool writers);

  class SignalsCaught;
  struct Child {
    std::string name;
    Process process;
    bool terminated = false;  ///< the next signal kills it
  };

  Milliseconds grace_;
  std::vector<std::unique_ptr<LineReader>> outputs_;
  std::vector<Child> running_;  // destroyed before outputs_, which waits for them
  bool we_signalled_ = false;   ///< if true, death by signal is not reported
  bool failed_ = false;         ///< whether a child ended neither well nor by a signal
  int signal_ = 0;
  std::unique_ptr<SignalsCaught> caught_;
};

}  // namespace lockstep::run
