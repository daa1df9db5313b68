// Reads training logs: lines in the ImageNet example's format, from us or PyTorch.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::experiments {

/// A range of iterations.
struct Iterations {
  int64_t count = 0;
  double seconds = 0, data_seconds = 0;  ///< total, and waiting for data (or NaN)
};

/// The log of one epoch. Accuracies are percentages.
struct EpochLog {
  int epoch = 0;
  int64_t planned = 0;        ///< iterations in the whole epoch
  Iterations all;             ///< up to the last progress line
  Iterations first;           ///< up to the first progress line (usually one)
  Iterations last;            ///< those after the second-to-last progress line
  std::vector<double> times;  ///< seconds of the iteration of each progress line
  bool whole = false;         ///< the last line is that of the epoch's last iteration
  std::optional<double> loss, acc1;  ///< means over the epoch's training batches
  std::optional<double> test_acc1, test_acc5;  ///< after it: ` * Acc@1 … Acc@5 …`
};

struct Log {
  std::string command;  ///< the first line after `$ `; empty in other logs
  std::string how;      ///< `mode dp, 4 devices`, or `GPU 0, 1`; empty if unknown
  int ranks = 1;        ///< ranks whose lines are in this log, as far as it shows
  std::vector<EpochLog> epochs;

  /// Returns the iterations over which the mean time is computed: all except the first,
  /// in which libraries build their kernels and loaders start, and, if `short_last`,
  /// each epoch's last, whose batch is smaller. May be empty.
  Iterations counted(bool short_last = false) const;
  /// Returns the shortest and the longest of those that have a progress line.
  std::optional<std::pair<double, double>> spread(bool short_last = false) const;
  int64_t iterations() const;  ///< including those not counted
  /// Returns the mean seconds of an epoch, extrapolated from its logged iterations.
  std::optional<double> epoch_seconds() const;
};

/// Parses lines as printed by main.py:
///   Epoch: [0][ 10/391]\tTime 0.742 ( 0.801)\tData …\tLoss …\tAcc@1 …\tAcc@5 …
///    * Acc@1 12.345 Acc@5 34.567
/// They may follow a prefix such as torchrun's `[default0]:`. Also accepts `Prec@1`,
/// the example's former name, and logs of today's main.py, whose first line is [1/391]
/// rather than [0/391]. For several ranks, takes the mean of what they print for the
/// same iteration. Ignores other and damaged lines.
Log read_log(std::istream& lines);

/// Parses a file in the same way. Throws std::runtime_error naming the file, with the
/// `fix`, if it cannot be read or has no progress lines.
Log read_log_file(const std::string& path,
                  const std::string& fix = "delete the file to rerun");

}  // namespace lockstep::experiments
