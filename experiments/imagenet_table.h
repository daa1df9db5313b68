// The seed's runs side by side, and beside the seed's own figures.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/imagenet_runs.h"
#include "experiments/log.h"
#include "experiments/plot.h"
#include "experiments/text_table.h"
#include "tracer/format/trace.h"

namespace lockstep::experiments {

/// A finished run.
struct ImageNetResult {
  ImageNetRun run;
  Log log;
  bool short_last = false;  ///< an epoch's last batch is smaller, and not counted
  /// Seconds of an iteration on devices with hardware of their own (the emulator's);
  /// none without a trace.
  std::optional<double> emulated;
};

/// What the table shows of a run. Speed-ups compare images per second with those of the
/// first run (one device, batch 256): at equal batch, that is the ratio of times.
struct ImageNetFigures {
  std::optional<double> seconds, data_seconds, images_per_second, speedup;
  std::optional<double> emulated_speedup, seed_speedup;
  std::optional<double> acc1, acc5;  ///< on the test set, after the last epoch
};
std::vector<ImageNetFigures> figures(const std::vector<ImageNetResult>& results);

Rows imagenet_rows(const std::vector<ImageNetResult>& results);

/// `notes`: sentences about the machine and the data.
tracer::Json imagenet_json(const std::vector<ImageNetResult>& results,
                           const std::vector<std::string>& notes);

/// Images per second, and speed-ups: measured, emulated, the seed's.
Plot imagenet_plot(const std::vector<ImageNetResult>& results,
                   const std::string& title);

}  // namespace lockstep::experiments
