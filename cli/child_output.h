// The output of a child process, line by line.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "base/fd.h"

namespace lockstep::cli {

/// Called with each line, its end included, on a thread of its own.
using OnLine = std::function<void(const std::string& line)>;

/// Passes lines on to one of our own streams (STDOUT_FILENO or STDERR_FILENO), whole,
/// each behind a name: `[rank 1] …`. Lines of several children do not mix.
OnLine prefixed(const std::string& name, int stream);

/// A pipe and a thread that reads its lines.
class ChildOutput {
 public:
  explicit ChildOutput(OnLine on_line);
  ~ChildOutput();  ///< waits until the children have closed their end

  int entrance() const { return entrance_.get(); }  ///< for the child
  void close_entrance() { entrance_ = {}; }         ///< when it has it

 private:
  void read(const OnLine& on_line);

  Fd entrance_, exit_;
  std::thread thread_;
};

}  // namespace lockstep::cli
