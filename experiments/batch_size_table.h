// Compares the effects of batch size and learning rate on accuracy.
#pragma once

#include <string>
#include <vector>

#include "experiments/batch_size_runs.h"
#include "experiments/log.h"
#include "experiments/plot.h"
#include "experiments/text_table.h"
#include "tracer/format/trace.h"

namespace lockstep::experiments {

/// A completed run. Its log has an evaluation after every epoch.
struct BatchSizeResult {
  BatchSizeRun run;
  Log log;
};

/// Values after the last epoch, in percent and percentage points.
struct BatchSizeFigures {
  double train = 0;    ///< Acc@1 over the epoch's training batches, during training
  double test = 0;     ///< Acc@1 on the test set
  double gap = 0;      ///< train - test
  double behind = 0;   ///< the smallest batch's test - test
  double seconds = 0;  ///< total time of the iterations of all epochs
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
