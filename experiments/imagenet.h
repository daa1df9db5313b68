// The six command lines of the seed (ResNet50 on ImageNet, single device, DP and DDP),
// and the table that compares the runs with each other and with the seed's own figures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/log.h"
#include "experiments/plot.h"
#include "experiments/text_table.h"
#include "tracer/analysis/summary.h"
#include "tracer/format/trace.h"

namespace lockstep::experiments {

struct ImageNetRuns {
  std::string arch = "resnet50", data;  ///< no data: `more` says what to train on
  int64_t divide_batches = 1;           ///< the seed's batches are divided by this
  int port = 2345;                      ///< where the ranks of DDP rendezvous
  /// Additional arguments for all runs.
  std::vector<std::string> more;
  /// Ranks of DDP are threads, and batches come from two workers each: the images are
  /// made in memory.
  bool emulated = false;
};

/// One run. `name` is the one used by the seed: resnet_s_256, resnet_p_1024,
/// resnet_d_256, … (s: one device, p: DataParallel, d: DistributedDataParallel).
struct ImageNetRun {
  std::string name, how;
  int64_t batch = 0;               ///< 0: unknown
  std::vector<std::string> words;  ///< arguments after `lockstep`: train …
  bool on_several = false;         ///< uses several devices
  double seed_seconds = 0;         ///< the seed's time per iteration; 0: unknown
};

std::vector<ImageNetRun> imagenet_runs(const ImageNetRuns& options);

/// Returns resnet for resnet50, as in the names of the seed's logs.
std::string family(const std::string& arch);

/// Returns whether two commands start the same run. The port of DDP and the name of the
/// program may differ.
bool same_command(const std::string& one, const std::string& other);

/// Returns the arguments quoted for a shell.
std::string typed(const std::vector<std::string>& words);

/// The parts of a step that several devices can share: fractions of what it waited for.
struct StepShares {
  std::optional<double> forward, backward;
};
StepShares step_shares(const tracer::StepGroup& group);
/// Returns "36 %", or a dash if it is unknown.
std::string share_cell(const std::optional<double>& share);

/// A completed run.
struct ImageNetResult {
  ImageNetRun run;
  Log log;
  bool short_last = false;  ///< an epoch's last batch is smaller, and not counted
  /// Seconds per iteration on devices with dedicated hardware (from the emulator);
  /// empty without a trace.
  std::optional<double> emulated;
  StepShares measured;  ///< unknown without a trace
};

/// A row of the table. Speed-ups compare images per second with those of the first run
/// (one device, batch 256): at equal batch size, this is the ratio of times.
struct ImageNetFigures {
  std::optional<double> seconds, data_seconds, images_per_second, speedup;
  std::optional<double> least, most;  ///< seconds of a single counted iteration
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
