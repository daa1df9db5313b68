// Small and large batches for equal numbers of epochs: the runs of the study, and the
// table that compares the effects of batch size and learning rate on accuracy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/imagenet.h"
#include "experiments/log.h"
#include "experiments/plot.h"
#include "experiments/text_table.h"
#include "tracer/format/trace.h"

namespace lockstep::experiments {

/// How the learning rate depends on the batch size.
enum class Recipe {
  constant,  ///< the smallest batch's rate for all batches
  scaled,    ///< the linear scaling rule: k times the batch, k times the rate
  warmed,    ///< the same with a linear warm-up
};
const char* name(Recipe recipe);

struct BatchSizeRuns {
  std::string arch = "resnet18";
  std::vector<int64_t> batches{64, 256, 1024};  ///< ascending
  double lr = 0.1;                              ///< for a batch of 256
  int epochs = 10, warmup_epochs = 2;
  std::string data;               ///< CIFAR-10's folder, or empty
  std::vector<std::string> more;  ///< additional arguments for all runs
};

/// One run. The smallest batch has only one: its recipes are identical.
struct BatchSizeRun {
  std::string name;  ///< resnet_s_1024_scaled
  int64_t batch = 0;
  Recipe recipe = Recipe::constant;
  double lr = 0;                   ///< for this batch, after scaling
  std::vector<std::string> words;  ///< arguments after `lockstep`: train …
};

/// Returns all runs: one device, equal numbers of epochs, a cosine schedule.
std::vector<BatchSizeRun> batch_size_runs(const BatchSizeRuns& options);

/// A completed run. Its log has an evaluation after every epoch.
struct BatchSizeResult {
  BatchSizeRun run;
  Log log;
  bool short_last = false;  ///< an epoch's last batch is smaller, and not counted
  StepShares measured;      ///< unknown without a trace
};

/// Values after the last epoch, in percent and percentage points.
struct BatchSizeFigures {
  double train = 0;    ///< Acc@1 over the epoch's training batches, during training
  double test = 0;     ///< Acc@1 on the test set
  double gap = 0;      ///< train - test
  double behind = 0;   ///< the smallest batch's test - test
  double seconds = 0;  ///< total time of the iterations of all epochs
  /// Seconds of a single iteration, except the first and those with a smaller batch:
  /// the mean, the shortest, the longest.
  std::optional<double> mean, least, most;
};

/// The first result is that of the smallest batch. Throws std::runtime_error naming the
/// log if a log does not end with an evaluation.
std::vector<BatchSizeFigures> figures(const std::vector<BatchSizeResult>& results);

Rows batch_size_rows(const std::vector<BatchSizeResult>& results);
tracer::Json batch_size_json(const std::vector<BatchSizeResult>& results,
                             const std::vector<std::string>& notes);

/// Plots accuracies against epochs, and the final gaps against the batch size.
Plot batch_size_plot(const std::vector<BatchSizeResult>& results,
                     const std::string& title);

}  // namespace lockstep::experiments
