// What batch size and learning rate did to accuracy, side by side.
#pragma once

#include <string>
#include <vector>

#include "experiments/batch_size_runs.h"
#include "experiments/log.h"
#include "experiments/plot.h"
#include "experiments/text_table.h"
#include "tracer/format/trace.h"

namespace lockstep::experiments {

/// A finished run. Its log has an evaluation after every epoch.
struct BatchSizeResult {
  BatchSizeRun run;
  Log log;
};

/// After the last epoch, in percent and percentage points.
struct BatchSizeFigures {
  double train = 0;   ///< Acc@1 over the epoch's training batches, as they were trained
  double test = 0;    ///< Acc@1 on the test set
  double gap = 0;     ///< train - test
  double behind = 0;  ///< the smallest batch's test - test
  double seconds = 0;  ///< that the iterations of all epochs took
};

/// The first result is the smallest batch's. Throws std::runtime_error, naming the log,
/// for one without an evaluation at its end.
std::vector<BatchSizeFigures> figures(const std::vector<BatchSizeResult>& results);

Rows batch_size_rows(const std::vector<BatchSizeResult>& results);
tracer::Json batch_size_json(const std::vector<BatchSizeResult>& results,
                             const std::vector<std::string>& notes);

/// Accuracies against epochs; the final gaps against the batch size.
Plot batch_size_plot(const std::vector<BatchSizeResult>& results,
                     const std::string& title);

}  // namespace lockstep::experiments
