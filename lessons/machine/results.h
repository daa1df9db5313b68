// How the judged process reports results: over a socket, row by row. Each row carries
// the next of the tokens that the judge dealt before the learner's library was loaded.
// A row without its token is not a result.
#pragma once

#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/fd.h"

namespace lockstep::lessons {

/// The judge's end.
class ResultsReader {
 public:
  /// Opens the socket and deals the tokens. Throws std::system_error.
  ResultsReader();

  /// Returns the standard input of the judged process.
  int for_process() const { return theirs_.get(); }

  /// Reads all rows once the judged process has ended.
  std::vector<nlohmann::ordered_json> read();

  /// Returns whether read() found anything but rows with their tokens.
  bool forged() const { return forged_; }

 private:
  Fd ours_, theirs_;
  std::deque<std::string> tokens_;
  bool forged_ = false;
};

/// The judged process's end.
class ResultsWriter {
 public:
  /// Takes the tokens from standard input, which becomes /dev/null. Throws
  /// std::runtime_error if this process was not started by the judge.
  ResultsWriter();

  /// Sends one row; long texts in it are shortened, and more so after many of them.
  void say(nlohmann::ordered_json row);

 private:
  size_t left_;  // bytes of texts, before all are cut to their beginnings
  Fd socket_;
  std::deque<std::string> tokens_;
};

}  // namespace lockstep::lessons
