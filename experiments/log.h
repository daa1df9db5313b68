// What a log of training says: the ImageNet example's lines, ours or PyTorch's.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::experiments {

/// A stretch of iterations.
struct Iterations {
  int64_t count = 0;
  double seconds = 0, data_seconds = 0;  ///< in all, and waiting for data
};

/// One epoch. Accuracies are percentages.
struct EpochLog {
  int epoch = 0;
  Iterations all;             ///< up to the last progress line
  Iterations first;           ///< up to the first progress line (usually one)
  Iterations last;            ///< those after the last but one
  bool whole = false;         ///< the last line is of the epoch's last iteration
  double loss = 0, acc1 = 0;  ///< means over the epoch's training batches
  std::optional<double> test_acc1, test_acc5;  ///< after it: ` * Acc@1 … Acc@5 …`
};

struct Log {
  std::string command;  ///< the first line after `$ `; empty in a log from elsewhere
  std::vector<EpochLog> epochs;

  /// The iterations of which the mean time is taken: all but the first, in which
  /// libraries build their kernels and loaders start, and, where `short_last`, but each
  /// epoch's last, whose batch is smaller. May be none.
  Iterations counted(bool short_last = false) const;
  int64_t iterations() const;  ///< all
};

/// Reads lines as main.py prints them:
///   Epoch: [0][ 10/391]\tTime 0.742 ( 0.801)\tData …\tLoss …\tAcc@1 …\tAcc@5 …
///    * Acc@1 12.345 Acc@5 34.567
/// `Prec@1`, the example's older word, is accepted; other lines are ignored.
Log read_log(std::istream& lines);

/// The same of a file. Throws std::runtime_error, naming it, if it cannot be read or
/// has no progress lines.
Log read_log_file(const std::string& path);

}  // namespace lockstep::experiments
