// The output of a child process, line by line, each with its name before it.
#pragma once

#include <string>
#include <thread>

#include "engine/distributed/store/fd.h"

namespace lockstep::cli {

/// A pipe and a thread that passes its lines on to one of our own streams, whole: lines
/// of several children do not mix.
class PrefixedOutput {
 public:
  /// `stream`: STDOUT_FILENO or STDERR_FILENO.
  PrefixedOutput(const std::string& name, int stream);
  ~PrefixedOutput();  ///< waits until the children have closed their end

  int entrance() const { return entrance_.get(); }  ///< for the child
  void close_entrance() { entrance_ = {}; }         ///< when it has it

 private:
  void pass_on(const std::string& prefix, int stream);

  distributed::store::Fd entrance_, exit_;
  std::thread thread_;
};

}  // namespace lockstep::cli
