// The question of one of the notes: 128 images on one GPU take a second; why do 256 on
// two take longer? The runs that answer it, and the table of their steps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/plot.h"
#include "experiments/text_table.h"
#include "tracer/analysis/missing_time.h"
#include "tracer/analysis/summary.h"

namespace lockstep::experiments {

struct ScalingRuns {
  std::string arch = "resnet18", data;    ///< data: a folder, or empty: generated
  int64_t batch = 128;                    ///< on each device
  std::vector<int64_t> devices{1, 2, 4};  ///< ascending, from one
  std::vector<std::string> more;          ///< additional arguments for all runs
};

/// One run. `name` is resnet_s_128, resnet_p_256, resnet_d_512, … (s: one device, p:
/// DataParallel, d: DistributedDataParallel); `heading` is the heading of its column.
struct ScalingRun {
  std::string name, heading;
  int64_t devices = 1, batch = 0;
  std::vector<std::string> words;  ///< arguments after `lockstep`: train …
};

/// Returns the run on one device, then DataParallel's, then DistributedDataParallel's.
std::vector<ScalingRun> scaling_runs(const ScalingRuns& options);

/// A completed run: the summaries of its trace, one per clock.
struct ScalingResult {
  ScalingRun run;
  std::vector<tracer::Summary> clocks;
};

/// A row of the table: a part of the step, in ns. An `inner` part is included in the
/// one above.
struct ScalingPart {
  std::string name;
  bool inner = false;
  int64_t nanoseconds = 0;
};

/// Returns the parts of a mean step: what the step waited for. Those that are not
/// `inner` add up to its length. Empty if that is unknown.
std::vector<ScalingPart> scaling_parts(const tracer::StepGroup& group);

/// The first result is that of one device. Unknown figures are `unknown`.
Rows scaling_rows(const std::vector<ScalingResult>& results);
tracer::Json scaling_json(const std::vector<ScalingResult>& results,
                          const std::vector<std::string>& notes);

/// Returns a sentence about each run on several devices and each clock.
std::vector<std::string> scaling_sentences(const std::vector<ScalingResult>& results);

/// Plots the parts of each step, and the speed-ups reached and predicted.
Plot scaling_plot(const std::vector<ScalingResult>& results, const std::string& title);

}  // namespace lockstep::experiments
