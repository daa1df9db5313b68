// Compares the seed's runs with each other and with the seed's own figures.
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

/// A completed run.
struct ImageNetResult {
  ImageNetRun run;
  Log log;
  bool short_last = false;  ///< an epoch's last batch is smaller, and not counted
  /// Seconds per iteration on devices with dedicated hardware (from the emulator);
  /// empty without a trace.
  std::optional<double> emulated;
};

/// A row of the table. Speed-ups compare images per second with those of the first run
/// (one device, batch 256): at equal batch size, this is the ratio of times.
struct ImageNetFigures {
  std::optional<double> seconds, data_seconds, images_per_second, speedup;
  std::optional<double> emulated_speedup, seed_speedup;
  std::optional<double> acc1, acc5;  ///< on the test set, after the last epoch
};
std::vector<ImageNetFigures> figures(const std::vector<ImageNetResult>& results);

Rows imagenet_rows(const std::vector<ImageNetResult>& results);

/// `notes` are sentences about the machine and the data.
tracer::Json imagenet_json(const std::vector<ImageNetResult>& results,
                           const std::vector<std::string>& notes);

/// Plots images per second and speed-ups: measured, emulated, and the seed's.
Plot imagenet_plot(const std::vector<ImageNetResult>& results,
                   const std::string& title);

}  // namespace lockstep::experiments
