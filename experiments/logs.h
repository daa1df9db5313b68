// `lockstep log`: training logs of any origin, compared in one table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/imagenet.h"

namespace lockstep::experiments {

struct LogOptions {
  std::vector<std::string> files;
  std::vector<int64_t> batches;  ///< none, one for all, or one for each file
  bool json = false;
};

/// Returns the batch size in the command that wrote the log (256, the default of both
/// programs, if it names none); 0 if the log does not begin with a command.
int64_t batch_of(const Log& log);

/// Returns a row per log: times, data, loss and accuracies; figures that the log does
/// not contain are `unknown`.
Rows log_rows(const std::vector<ImageNetResult>& results);
tracer::Json log_json(const std::vector<ImageNetResult>& results);

/// Reads the files and prints the table. Returns the exit code. Throws UsageError, or
/// std::runtime_error naming the file that cannot be read.
int print_logs(const LogOptions& options);

}  // namespace lockstep::experiments
